"""The panel: what a cell shows of a run, live, and its buttons."""
