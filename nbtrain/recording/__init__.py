"""Records on their way out of the training thread, and what watches beside it."""
