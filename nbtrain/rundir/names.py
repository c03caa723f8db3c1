"""The names of files and folders in the folder of a run."""

from __future__ import annotations

# The folder with the commands of other processes, and the answers to them.
MAILBOX = "mailbox"

# The prints of a process that was launched.
LOG = "log.txt"

# The subfolders of `checkpoints` for copies: of good states, of the start of a trial, and of the
# best of its values so far.
ASIDE = LAST_GOOD, TRIAL, TRIAL_BEST, BEST = "last_good", "trial", "trial_best", "best"

# The subfolder of `checkpoints` with the present state, while a question is answered from others.
PRESENT = "present"
