"""The training data of a Keras fit, with positions that can be saved."""
