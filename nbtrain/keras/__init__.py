"""Trains a Keras model with its `fit`."""
