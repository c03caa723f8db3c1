"""Curves: every recorded scalar in compact columns, and what a display needs of them."""
