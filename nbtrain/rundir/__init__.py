"""The folder of a run: its lock, its journal, and the lineage of its steps."""
