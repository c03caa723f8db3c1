"""One run: its thread, its step boundary, its commands, and what watches it."""
