"""A run's door to other processes, and its mirror in a store."""
