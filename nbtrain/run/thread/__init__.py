"""The threads of a run, and what TensorFlow, Keras and NumPy keep for one thread."""
