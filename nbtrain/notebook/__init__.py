"""Runs in cells: the display, the magics and the boards."""
