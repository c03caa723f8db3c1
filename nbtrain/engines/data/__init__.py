"""The position in the data, saved and restored with a checkpoint."""
