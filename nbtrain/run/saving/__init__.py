"""Saves a run's checkpoints, restores them, and checks what was restored."""
