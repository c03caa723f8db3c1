"""The engines: TF2 step functions, custom loops, Keras and graphs, and what they share."""
