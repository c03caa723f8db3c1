"""The MonitoredSession of a run: its hooks and their sessions."""
