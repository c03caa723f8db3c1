"""Saves a run's checkpoints, restores them, and proves what was restored."""
