"""The command line as a module: `python -m nbtrain status runs/digits`."""

import sys

from nbtrain.terminal.main import main

sys.exit(main())
