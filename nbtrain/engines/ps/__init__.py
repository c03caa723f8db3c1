"""Trains on parameter servers: TensorFlow's ParameterServerStrategy and ClusterCoordinator."""
