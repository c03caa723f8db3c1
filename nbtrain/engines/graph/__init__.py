"""Trains a TF1 graph, under a Supervisor or in a MonitoredSession."""
