"""The end of the process, and its interrupts."""
