"""Reads, sets and records the hyperparameters of a run."""
