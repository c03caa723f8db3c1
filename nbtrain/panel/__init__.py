"""The panel: the live view of a run in a cell, with its buttons."""
