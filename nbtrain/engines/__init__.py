"""What trains: a TF2 step function, a TF1 graph under a Supervisor, or the user's own loop."""
