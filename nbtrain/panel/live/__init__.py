"""The panel of a run: its view, its messages to the page, its tables."""
