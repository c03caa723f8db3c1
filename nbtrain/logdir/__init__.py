"""Event files as data: scalars, summaries, hyperparameters and comparisons of runs."""
