"""The names of event files."""

from __future__ import annotations

# TensorBoard recognizes an event file by this part of its name.
PART = "tfevents"

# The prefix of the files written here, as in TensorFlow.
PREFIX = f"events.out.{PART}."

# The ending of the files written here: a folder may have files of other writers, too.
ENDING = ".nbtrain"
