"""Records from the training thread: the queue, the recorder, and every scalar's curve."""
