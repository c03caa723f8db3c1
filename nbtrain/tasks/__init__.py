"""The tasks of a TensorFlow cluster: their description, and the processes that run them."""
