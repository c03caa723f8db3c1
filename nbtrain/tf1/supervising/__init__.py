"""TensorFlow's Supervisor and its services."""
