"""The page that `make bench` writes: nbtrain beside other tools for the same purpose."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tests.benchmarks import measured
from tests.benchmarks.reading import WALK

PAGE = """\
# Costs

`make bench` measured this on {day}: {machine}, {cores} cores, Python {python}, {versions}.
Each tool takes turns with the bare code, within seconds, and does what it does by default. Figures
are medians, and in parentheses the same from the lower and from the upper quartiles. The code is in
`tests/benchmarks`.

## A step of a loop of your own

A step of a TensorFlow graph that takes {step_us:.0f} µs, and what is added to it. *Training
thread* is the CPU time that the loop itself pays; *whole step* is the time on the clock with
everything that runs beside it: threads, messages to the page, files. *Longest pause* is how much
longer the longest step in 0.8 s was than a usual one.

{steps}

{steps_in_words}

`FileWriter` and `tf.summary.scalar` write event files and show nothing; the bars of tqdm show
one value at most and keep none; trackio and wandb keep every step, and show it on a page of their
own. nbtrain keeps every step, writes event files and draws the curve below the cell.

## A Keras fit

A batch of {batch_us:.0f} µs under `model.fit`, and the same with each of these. nbtrain and the
tools named *per batch* record each batch; the others show each epoch. A figure below zero, or below
one, is less than the bare fit takes.

{fits}

## Reading event files

Scalars, each in an event of its own, as TensorFlow writes them. Each reader reads them once and
keeps every point; *{walk}* goes from record to record in a loop of Python and reads none. CPU time
of all threads; memory at the peak.

{readers}

## The first picture

From the start of the cell until the curves are in the page, in a kernel that has imported nothing.
Boards and attached runs need NumPy.

{pictures}
"""
OWN = {
    "again": "the bare loop again: the error of the measurement",
    "train": "`nbtrain.train`",
    "track in the foreground": "`nbtrain.track`",
    "own loop": "`run.record` and `run.should_stop`",
}
SHOWN_LAYOUTS = ("TF2, one tag", "20 runs of ten tags", "many runs of one tag")
TOOLS = ("tqdm", "trackio", "wandb", "livelossplot", "tbparse", "tensorboard")


def written(*, quick: bool) -> str:
    """The page, in Markdown; what has not been measured yet is measured."""
    from tests.benchmarks.keras_fit import WAYS
    from tests.benchmarks.ways import PEERS

    steps = measured.steps("GraphStep", quick=quick)
    peers = {peer: measured.peer_steps(peer, quick=quick) for peer in PEERS}
    fits = {way: measured.fits(way, quick=quick) for way in WAYS}
    plain = fits["bare again"]
    assert plain is not None
    return PAGE.format(
        day=datetime.date.today().isoformat(),
        machine=platform.machine(),
        cores=os.cpu_count(),
        python=platform.python_version(),
        versions=", ".join(_versions(("tensorflow", "keras", *TOOLS))),
        step_us=steps["step_us"],
        steps=_table(
            [
                "",
                "training thread, µs a step",
                "whole step, times the bare one",
                "longest pause, ms",
            ],
            [
                *(_step_row(words, way, steps) for way, words in OWN.items()),
                *(_step_row(f"`{peer}`", peer, out) for peer, out in peers.items() if out),
            ],
        ),
        steps_in_words=_in_words(steps["cpu_us"]["train"][1], steps["cpu_us"]["own loop"][1]),
        batch_us=plain["batch_us"],
        fits=_table(
            ["", "training thread, µs a batch", "time of the fit, times the bare one"],
            (
                [way, _spread(out["cpu_us"], 1), _spread(out["ratios"], 3)]
                for way, out in fits.items()
                if out
            ),
        ),
        walk=WALK,
        readers=_table(["", "reader", "CPU, s", "times nbtrain's", "memory, MB"], _readers(quick)),
        pictures=_table(
            ["", "s"],
            (
                [what, _spread(np.percentile(found, [25, 50, 75]), 2)]
                for what, found in measured.pictures(quick=quick).items()
            ),
        ),
    )


def _step_row(words: str, way: str, out: measured.Figures) -> list[str]:
    whole = out["everything"].get(way)
    return [
        words,
        _spread(out["cpu_us"][way], 1),
        f"{whole[1]:.2f}" if whole else "",
        f"{out['stalls'][way]['block_ms']:.1f}" if whole else "",
    ]


def _in_words(train: float, record: float) -> str:
    return (
        f"In words: of a step of one millisecond, `nbtrain.train` takes {train / 10:.1f} % of the "
        f"training thread, and a loop that records by itself {record / 10:.1f} %."
    )


def _readers(quick: bool) -> Iterator[list[str]]:
    for layout in SHOWN_LAYOUTS:
        runs, events, found = measured.readers(layout, quick=quick)
        ours = found["nbtrain"]["secs"]
        for reader, figures in found.items():
            memory = "" if reader == WALK else f"{figures['peak'] / 1e6:,.0f}"
            times = "" if reader == "nbtrain" else f"{figures['secs'] / ours:.1f}"
            where = layout.replace("many", f"{runs:,}")
            yield [f"{events:,}, {where}", reader, f"{figures['secs']:.2f}", times, memory]


def _spread(quartiles: Iterable[float], digits: int) -> str:
    low, middle, high = quartiles
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _versions(packages: Iterable[str]) -> Iterator[str]:
    for package in packages:
        try:
            yield f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            continue
