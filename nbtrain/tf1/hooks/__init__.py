"""MonitoredSession under a run: its hooks and their sessions."""
