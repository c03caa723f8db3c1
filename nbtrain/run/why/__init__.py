"""Answers questions about a run by experiments, after which it is where it was."""
