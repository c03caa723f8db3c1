"""The names of TensorFlow and Keras that are not public, each with what happens without it."""
