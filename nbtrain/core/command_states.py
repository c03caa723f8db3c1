"""The states of a command: before its answer, and with it.

An unanswered command was sent to another process, which may have done it or not.
"""

from __future__ import annotations

REQUESTED, APPLIED, REFUSED, UNANSWERED = "requested", "applied", "refused", "unanswered"
