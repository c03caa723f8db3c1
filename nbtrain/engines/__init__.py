"""What trains: a TF2 step function, or a loop of one's own; and what all that trains shares."""
