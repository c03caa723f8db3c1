"""The two sides of a run in a terminal: the line of a script, and the command line."""
