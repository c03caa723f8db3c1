"""Where a run meets a terminal: the line of a script, and the command line."""
