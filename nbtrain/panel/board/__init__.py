"""The boards of a logdir: charts, tables, media and graphs for a page."""
