"""The tests: folders by what a test may use.

core      pure: TensorFlow is not imported
training  TensorFlow, in the process of the test
process   processes of their own: kills, forks, kernels, servers
faults    processes of their own, in which what goes wrong is drawn: `make soak` draws on
page      a bare page in Chromium, and the widgets in the process of the test
lab       JupyterLab, in Chromium
js        the modules of the page, in Node.js
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
