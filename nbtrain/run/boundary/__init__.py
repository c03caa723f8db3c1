"""The step boundary, and the loops that call it between two steps."""
