"""Scalars and hyperparameters: their types, ranges, directions and trials."""
