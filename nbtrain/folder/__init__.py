"""The folder of a run: its lock, the journal of what was done, and the way the run went."""
