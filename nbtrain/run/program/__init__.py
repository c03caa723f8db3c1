"""What is read from the user's program: what its names refer to, and how its loops end."""
