"""What trains a Keras model by its `fit`."""
