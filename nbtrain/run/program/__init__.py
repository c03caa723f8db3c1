"""Reads the user's program: the objects that its names refer to, and how its loops end."""
