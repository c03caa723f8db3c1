"""The work beside the training thread: speed, time, machine, messages."""
