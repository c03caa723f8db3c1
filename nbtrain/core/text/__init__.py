"""Texts for people: tables, names in order, and lines of programs and logs."""
