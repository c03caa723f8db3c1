"""The specification, as tests: one file a room, one promise a test."""
