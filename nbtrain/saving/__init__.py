"""Checkpoints: what is saved, kept, listed, and branched from."""
