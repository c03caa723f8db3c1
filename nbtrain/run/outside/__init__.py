"""The connection of a run to other processes, and its mirror in a store."""
