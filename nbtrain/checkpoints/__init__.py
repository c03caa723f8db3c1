"""Checkpoints on disk: files, listings, repairs and branches."""
