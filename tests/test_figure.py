"""The picture that stays: it is drawn, says what went wrong, and touches nobody's figures."""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.image import imread

from nbtrain.panel.figure import png
from nbtrain.states import Phase, Status
from nbtrain.store import ScalarStore
from tests.test_store import add

STATUS = Status(name="digits", engine="step function", phase=Phase.FINISHED, step=100)
NAN = float("nan")


@pytest.fixture
def store() -> ScalarStore:
    """An empty store."""
    return ScalarStore()


def drawn(store: ScalarStore, status: Status = STATUS) -> npt.NDArray[np.float64]:
    """The picture's pixels: height, width, red green blue alpha."""
    picture = png(status, store.curves())
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    return np.asarray(imread(io.BytesIO(picture)), dtype=np.float64)


def near(pixels: npt.NDArray[np.float64], colour: str) -> int:
    """How many pixels have about this colour."""
    wanted = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return int((np.abs(pixels[:, :, :3] - wanted).max(axis=2) < 0.05).sum())


def test_a_curve_is_drawn(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.exp(-np.arange(100) / 20))
    assert near(drawn(store), "#1f77b4") > 100


def test_every_tag_gets_a_chart_of_its_own_colour(store: ScalarStore) -> None:
    one = drawn(store)
    for tag in ("loss", "accuracy", "rate"):
        add(store, tag, 1, *np.arange(50.0))
    three = drawn(store)
    assert len(three) > len(one)
    for colour in ("#1f77b4", "#d95f02", "#2a9d5c"):
        assert near(three, colour) > 50


def test_a_value_that_is_not_finite_is_a_gap_with_a_mark(store: ScalarStore) -> None:
    red = "#c62828"
    add(store, "loss", 1, *[1.0] * 20)
    assert near(drawn(store), red) == 0
    add(store, "loss", 21, NAN, float("inf"), float("-inf"), *[1.0] * 20)
    assert near(drawn(store), red) > 10


def test_what_a_restore_abandoned_is_grey(store: ScalarStore) -> None:
    grey = "#8c8c8c"
    add(store, "loss", 1, *np.arange(50.0))
    before = near(drawn(store), grey)
    store.open_segment(20)
    add(store, "loss", 21, *np.full(40, 10.0))
    assert near(drawn(store), grey) > before + 50


@pytest.mark.parametrize(
    "values",
    [[], [0.5], [NAN], [NAN] * 30, [1e300, -1e300], [float("inf")] * 5, list(range(5000))],
    ids=["none", "one", "a NaN", "only NaN", "huge", "infinite", "long"],
)
def test_any_curve_can_be_drawn(store: ScalarStore, values: list[float]) -> None:
    if values:
        add(store, "loss", 1, *values)
    assert drawn(store).shape[2] == 4


def test_abandoned_points_that_are_not_finite_can_be_drawn(store: ScalarStore) -> None:
    add(store, "loss", 1, 1.0, NAN, 2.0, NAN)
    store.open_segment(0)
    assert drawn(store).shape[2] == 4


@pytest.mark.filterwarnings("ignore:Glyph")  # matplotlib's own font has not every script
@pytest.mark.parametrize("name", ["$x", "100%", "a_b^{", "$\\nope{$", "Größe 損失"])
def test_any_name_and_tag_can_be_written(store: ScalarStore, name: str) -> None:
    add(store, name, 1, 0.5, 0.25)
    status = dataclasses.replace(STATUS, name=name, values={name: 0.25})
    assert drawn(store, status).shape[2] == 4


def test_a_run_without_scalars_is_a_line_of_text(store: ScalarStore) -> None:
    assert 20 < len(drawn(store)) < 150


def test_pyplot_and_the_backend_are_not_touched(store: ScalarStore) -> None:
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    mine = plt.figure()
    add(store, "loss", 1, 0.5, 0.25)
    before = dict(mpl.rcParams)
    drawn(store)
    assert plt.get_fignums() == [mine.number]
    assert plt.gcf() is mine
    assert dict(mpl.rcParams) == before
    plt.close(mine)


def test_pyplot_is_not_even_loaded() -> None:
    code = (
        "import sys\n"
        "from nbtrain.panel.figure import png\n"
        "from nbtrain.states import Phase, Status\n"
        "png(Status('digits', 'loop', Phase.FINISHED), [])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)


def test_it_is_drawn_in_any_thread(store: ScalarStore) -> None:
    add(store, "loss", 1, 0.5, 0.25)
    pictures: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: pictures.append(png(STATUS, store.curves())))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(pictures) == 2
    assert pictures[0] == pictures[1]


def test_a_long_tag_takes_no_room_from_its_curve(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.sin(np.arange(100.0)))
    short = near(drawn(store), "#1f77b4")
    other = ScalarStore()
    add(other, "l" * 200, 1, *np.sin(np.arange(100.0)))
    assert near(drawn(other), "#1f77b4") > 0.8 * short
