"""Trials: other hyperparameters for some steps, kept or undone."""
