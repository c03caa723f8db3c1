"""A run that has something for every section of its panel; it goes on when it is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from nbtrain.core.commands import NO_SENDER, Command, Sender
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Phase, Status
from nbtrain.core.tasks import Task, TaskState
from nbtrain.core.text.log_lines import MOST_LINES, LogLine, LogLines
from nbtrain.logdir.run_media import RunMedia
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.journal import Marks
from nbtrain.rundir.mailbox import Address

TAGS = [f"part{n}/loss" for n in range(10)]
SYSTEM = ["system/cpu_percent", "system/memory_gb"]
POINTS = 10  # of each tag in a second
BEGAN = 1.7e9
MEDIA = 3  # tags of pictures and media


class Lively:
    """A source for a panel, with ten charts, media, a full log, tasks and curves of a machine.

    Args:
        folder: Where its event files are.

    Attributes:
        now: Seconds since it began.
    """

    def __init__(self, folder: Path) -> None:
        self.now = 0
        self.scalars, self.marks, self.log = ScalarStore(), Marks(), LogLines()
        self.media = RunMedia(folder)
        self.log.add([self._line(f"line {n} from before") for n in range(MOST_LINES)])
        self.receipts: Sequence[Receipt] = ()
        self.mailbox: Address | None = None
        self.trained_by: str | None = None
        self.most_checkpoints: int | None = None
        self._writer = tf.summary.create_file_writer(str(folder))
        self._noise = np.random.default_rng(0)

    @property
    def step(self) -> int:
        """The steps that are completed."""
        return self.now * POINTS

    def go_on(self, *, pictures: bool = False) -> None:
        """Trains for a second: points of every curve, a line of the log and, if asked, media."""
        steps = np.arange(self.step, self.step + POINTS, dtype=np.int64)
        times = BEGAN + steps / POINTS
        for tag in TAGS:
            self.scalars.extend(tag, steps, times, self._noise.random(POINTS))
        for tag in SYSTEM:
            self.scalars.extend(tag, steps[-1:], times[-1:], 100 * self._noise.random(1))
        self.now += 1
        self.log.add([self._line(f"step {self.step} of the training")])
        if pictures:
            self._picture()

    def _line(self, text: str) -> LogLine:
        return LogLine(BEGAN + self.now, self.step, "INFO", "print", text)

    def _picture(self) -> None:
        with self._writer.as_default(step=self.step):
            tf.summary.image("samples", self._noise.random((4, 28, 28, 1)), max_outputs=4)
            tf.summary.histogram("weights", self._noise.normal(size=500))
            tf.summary.text("notes", f"At step **{self.step}**")
        self._writer.flush()
        self.media.tick(to_end=True)

    def close(self) -> None:
        """Ends its event file."""
        self._writer.close()

    def post(self, command: Command, *, sender: Sender = NO_SENDER) -> Receipt:
        """Nobody clicks."""
        raise NotImplementedError

    @property
    def status(self) -> Status:
        """The status; most of it changes with every second."""
        lag = self.now % 3
        tasks = (
            Task("ps", 0, TaskState.RUNNING, silent_s=0.5),
            Task("worker", 0, TaskState.RUNNING, silent_s=0.5, log="a\nb"),
        )
        return Status(
            "lively",
            "step function",
            Phase.RUNNING,
            step=self.step,
            total_steps=10**6,
            steps_per_s=POINTS + lag / 10,
            elapsed_s=float(self.now),
            values=self.scalars.last_values(),
            tasks=tasks,
        )
