"""The threads of a run, and the state that TensorFlow, Keras and NumPy keep for each thread."""
