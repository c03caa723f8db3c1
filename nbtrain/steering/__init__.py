"""Commands on their way into the training thread, and what they do there."""
