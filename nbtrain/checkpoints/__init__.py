"""Checkpoints on disk: files, listings and repairs."""
