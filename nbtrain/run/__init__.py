"""One run: its thread, its step boundary, its commands, and its monitor."""
