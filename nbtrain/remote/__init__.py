"""Runs of other processes: followed through their folders, steered through their mailboxes."""
