"""The log of a run: what its threads print, log and warn of."""
