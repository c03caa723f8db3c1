"""Runs in a terminal: the progress line of a script, and the command line."""
