"""The picture in a saved notebook: it is drawn, shows problems, and leaves pyplot alone."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
import threading

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pytest

from nbtrain.core.states import Phase, Status
from nbtrain.panel.figure import AMBER, COLOURS, GREY, INK, RED, _words, png
from nbtrain.panel.live.lines import lines_of
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.journal import Mark
from tests import ROOT
from tests.figures import of, pixels_of, rgb
from tests.stores import add

STATUS = Status(name="digits", engine="step function", phase=Phase.FINISHED, step=100)
NAN = float("nan")
WHITE, BLACK = "#ffffff", "#111111"  # JupyterLab's two backgrounds
BLUE, ORANGE = COLOURS[:2]


@pytest.fixture
def store() -> ScalarStore:
    """An empty store."""
    return ScalarStore()


def drawn(store: ScalarStore, status: Status = STATUS) -> npt.NDArray[np.float64]:
    """The pixels of the picture on white: height, width, RGB."""
    picture = png(status, store.curves())
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    return on(WHITE, picture)


def on(ground: str, picture: bytes) -> npt.NDArray[np.float64]:
    """The pixels of a picture on a background: height, width, RGB."""
    pixels = pixels_of(picture)
    opaque = pixels[:, :, 3:]
    return np.asarray(pixels[:, :, :3] * opaque + np.array(rgb(ground)) * (1 - opaque))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, from 1 to 21 (WCAG 2.1)."""
    weights = (0.2126, 0.7152, 0.0722)

    def light(colour: str) -> float:
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb(colour)]
        return sum(weight * part for weight, part in zip(weights, parts, strict=True)) + 0.05

    low, high = sorted((light(one), light(other)))
    return high / low


def near(pixels: npt.NDArray[np.float64], colour: str) -> int:
    """Counts the pixels with about this colour."""
    return int(of(pixels, colour).sum())


def test_a_curve_is_drawn(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.exp(-np.arange(100) / 20))
    assert near(drawn(store), BLUE) > 100


def test_every_tag_gets_a_chart(store: ScalarStore) -> None:
    one = drawn(store)
    for tag in ("loss", "accuracy", "rate"):
        add(store, tag, 1, *np.arange(50.0))
    three = drawn(store)
    assert len(three) > len(one)
    middle = len(three) // 2, three.shape[1] // 2
    for place in np.s_[: middle[0], : middle[1]], np.s_[: middle[0], middle[1] :]:
        assert near(three[place], BLUE) > 50
    assert near(three[middle[0] :, : middle[1]], BLUE) > 50
    assert near(three, ORANGE) == 0


def test_a_tag_and_its_validation_share_a_chart_in_two_colours(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.linspace(2.0, 0.0, 50))
    one = drawn(store)
    add(store, "val_loss", 25, 1.0, 1.5)
    both = drawn(store)
    assert both.shape == one.shape
    assert near(both, BLUE) > 100
    assert near(both, ORANGE) > 50


def test_the_title_shows_the_step_of_a_value_from_an_earlier_start(store: ScalarStore) -> None:
    add(store, "val_loss", 1, *np.linspace(2.0, 0.0, 50))
    plain = dataclasses.replace(STATUS, values={"val_loss": 0.5})
    told = dataclasses.replace(plain, values_at={"val_loss": 20})
    assert near(drawn(store, told), INK) > near(drawn(store, plain), INK) + 20


def test_a_tag_and_its_validation_share_a_scale(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.zeros(50))
    flat = np.flatnonzero(of(drawn(store), BLUE).any(axis=1))
    add(store, "val_loss", 10, *np.full(9, 5.0))
    pixels = drawn(store)
    blue, orange = (np.flatnonzero(of(pixels, colour).any(axis=1)) for colour in (BLUE, ORANGE))
    assert len(flat)
    assert blue.max() - orange.max() > 100


def test_a_lone_validation_has_its_own_chart_in_its_colour(store: ScalarStore) -> None:
    add(store, "val_accuracy", 1, *np.arange(50.0))
    pixels = drawn(store)
    assert near(pixels, ORANGE) > 100
    assert near(pixels, BLUE) == 0


def test_the_validations_of_a_metric_are_one_line_in_the_order_of_their_steps(
    store: ScalarStore,
) -> None:
    for step in (10, 20, 30):
        add(store, "epoch_f1", step, 0.5)
        add(store, "epoch_val_f1", step, 0.7)
    add(store, "val_f1", 25, 0.9)
    [[trained, validation]] = lines_of(store.curves())
    assert (trained.tag, trained.validates) == ("epoch_f1", False)
    assert (validation.tag, validation.validates) == ("epoch_val_f1", True)
    assert len(validation.kept) == 2
    add(store, "val_f1", 35, 0.9)
    assert lines_of(store.curves())[0][1].tag == "val_f1"
    pixels = drawn(store)
    assert near(pixels, ORANGE) > 50


def test_a_line_continues_after_a_restore(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.linspace(1.0, 0.0, 30))
    store.open_segment(10)
    whole = near(drawn(store), BLUE)
    add(store, "loss", 40, 1.0)
    assert near(drawn(store), BLUE) > 1.5 * whole, "and is no lone dot"


def test_a_line_leaves_out_a_partial_last_bucket(store: ScalarStore) -> None:
    add(store, "loss", 1, *[-1.0, 1.0] * 514, 1.0)  # means of four are 0; the last one is alone
    (curve,) = store.curves()
    assert curve.buckets.mean.tolist() == [0.0] * 257 + [1.0]
    rows = np.flatnonzero(of(drawn(store), BLUE).any(axis=1))
    assert np.ptp(rows) < 4, "no hook at its end"
    store.open_segment(1028)
    add(store, "loss", 1029, *[-1.0, 1.0] * 2)
    rows = np.flatnonzero(of(drawn(store), BLUE).any(axis=1))
    assert np.ptp(rows) < 4, "nor before what came after a restore"


def test_nan_and_infinity_are_marked_in_the_last_bucket_too(store: ScalarStore) -> None:
    add(store, "loss", 1, *[1.0] * 1028, NAN)
    assert near(drawn(store), RED) > 5


def test_a_value_between_two_gaps_is_a_point(store: ScalarStore) -> None:
    add(store, "loss", 1, *[NAN, 1.0] * 5)
    assert near(drawn(store), BLUE) > 5 * 4


@pytest.mark.parametrize("odd", [NAN, math.inf, -math.inf])
def test_a_line_leads_through_buckets_with_some_finite_values(
    store: ScalarStore, odd: float
) -> None:
    add(store, "loss", 1, *[odd if step % 7 == 0 else 1.0 for step in range(1200)])
    pixels = drawn(store)
    columns = np.flatnonzero(of(pixels, BLUE).any(axis=0))
    assert len(columns) > 0.9 * np.ptp(columns), "without gaps"
    assert near(pixels, RED) > 5


@pytest.mark.parametrize("style", ["default", "dark_background", "ggplot"])
@pytest.mark.parametrize("page", [WHITE, BLACK])
def test_every_ink_is_legible_on_every_page_in_every_style(
    store: ScalarStore, page: str, style: str
) -> None:
    import matplotlib.style

    add(store, "loss", 1, *np.linspace(2.0, 0.0, 50))
    with matplotlib.style.context(style):
        pixels = on(page, png(STATUS, store.curves()))
    colours, counts = np.unique((pixels * 255).round().reshape(-1, 3), axis=0, return_counts=True)
    ground = "#" + "".join(f"{int(part):02x}" for part in colours[counts.argmax()])
    assert counts.max() > 0.8 * counts.sum(), "one ground below words and charts"
    assert min(contrast(ground, ink) for ink in (INK, AMBER, RED)) >= 4.5
    assert min(contrast(ground, line) for line in (*COLOURS, GREY)) >= 3


def test_text_and_axis_numbers_use_the_ink(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.linspace(2.0, 0.0, 50))
    status = dataclasses.replace(STATUS, values=store.last_values(), notice="from ckpt-1")
    pixels = on(WHITE, png(status, store.curves()))
    for part in (pixels[:40], pixels[:, :30]):
        share = (1 - part) / (1 - np.array(rgb(INK)))  # of the ink in each pixel
        assert share.max() == pytest.approx(1.0, abs=0.05)
        assert np.ptp(share, axis=2).max() < 0.05


def test_a_hyperparameter_has_no_chart_in_the_picture(store: ScalarStore) -> None:
    add(store, "loss", 1, 0.5, 0.25)
    alone = png(STATUS, store.curves())
    add(store, "hyperparameters/learning_rate", 1, 0.5, 0.5)
    assert png(STATUS, store.curves()) == alone


def test_nan_and_infinity_are_gaps_with_a_mark(store: ScalarStore) -> None:
    add(store, "loss", 1, *[1.0] * 20)
    assert near(drawn(store), RED) == 0
    add(store, "loss", 21, NAN, float("inf"), float("-inf"), *[1.0] * 20)
    assert near(drawn(store), RED) > 10


def test_every_chart_draws_the_same_marks_at_any_wall_time(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.arange(50.0))
    add(store, "accuracy", 1, *np.arange(50.0))
    bare = drawn(store)
    marks = [Mark("save", 10, 5.0, "saved ckpt-10"), Mark("set", 30, 6.0, "rate 2 → 1")]
    picture = png(STATUS, store.curves(), marks)
    assert picture == png(
        STATUS, store.curves(), [dataclasses.replace(each, wall_time=7.0) for each in marks]
    )
    pixels = on(WHITE, picture)
    for half in (slice(0, bare.shape[1] // 2), slice(bare.shape[1] // 2, None)):
        assert near(pixels[:, half], INK) > near(bare[:, half], INK) + 10
    assert len(pixels) > len(bare), "a line tells which signs there are"


def test_the_axis_includes_a_mark_before_the_first_point(store: ScalarStore) -> None:
    add(store, "loss", 50, *np.arange(50.0))

    def begins(step: int) -> int:
        pixels = on(WHITE, png(STATUS, store.curves(), [Mark("set", step, 0.0)]))
        return int(np.flatnonzero(of(pixels, BLUE).any(axis=0))[0])

    assert begins(5) > begins(60) + 200, "the curve begins in the middle"
    assert begins(500) == begins(60), "too far off"


def test_a_mark_in_a_chart_without_finite_values_is_harmless(store: ScalarStore) -> None:
    add(store, "loss", 1, np.nan, np.inf)
    assert png(STATUS, store.curves(), [Mark("restore", 2, 0.0, "", 0)])


def test_a_thousand_marks_and_an_unknown_kind_are_drawn(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.arange(1000.0))
    marks = [Mark("checkpoint", step, 0.0) for step in range(1000)] + [Mark("new", 500, 0.0)]
    assert png(STATUS, store.curves(), marks) != png(STATUS, store.curves(), marks[:-1])


def test_abandoned_points_are_grey(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.arange(50.0))
    before = near(drawn(store), GREY)
    store.open_segment(20)
    add(store, "loss", 21, *np.full(40, 50.0))
    assert near(drawn(store), GREY) > before + 50


def test_a_last_value_that_was_abandoned_says_so(store: ScalarStore) -> None:
    status = dataclasses.replace(STATUS, values={"loss": 7.0})
    add(store, "loss", 10, *np.arange(50.0))
    unnamed, counts = title(drawn(store)), title(drawn(store, status))
    store.open_segment(30)
    assert title(drawn(store, status)) == counts
    store.open_segment(5)
    assert title(drawn(store, status)) > counts + 40 > unnamed


def title(pixels: npt.NDArray[np.float64]) -> int:
    """The right edge of the words between the headline and the chart."""
    lines = (pixels < 0.8).any(axis=(1, 2))
    begins = np.flatnonzero(np.diff(lines.astype(int)) == 1)
    ends = np.flatnonzero(np.diff(lines.astype(int)) == -1)
    second = pixels[begins[1] : ends[1] + 1]
    return int(np.flatnonzero((second < 0.8).any(axis=(0, 2)))[-1])


def test_a_bad_tail_does_not_flatten_the_curve(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.linspace(1.0, 0.0, 50), 1e9)
    store.open_segment(50)
    add(store, "loss", 51, *np.zeros(10))
    rows = np.flatnonzero(of(drawn(store), BLUE).any(axis=1))
    assert rows[-1] - rows[0] > 100


@pytest.mark.parametrize("spike", [3e29, -3e29])
def test_a_spike_does_not_flatten_the_curve_and_is_marked(store: ScalarStore, spike: float) -> None:
    add(store, "loss", 1, *np.linspace(1.0, 0.0, 50), spike, *np.zeros(50))
    pixels = drawn(store)
    before = pixels[:, : pixels.shape[1] // 3]  # the spike is in the middle
    rows = np.flatnonzero(of(before, BLUE).any(axis=1))
    assert rows[-1] - rows[0] > 100
    (marked,) = {bool(row >= (rows[0] + rows[-1]) / 2) for row in np.flatnonzero(red_rows(pixels))}
    assert marked == (spike < 0)


def red_rows(pixels: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Marks the rows of the picture with something red."""
    return np.asarray(of(pixels, RED).any(axis=1))


@pytest.mark.parametrize(
    "values",
    [[], [0.5], [NAN], [NAN] * 30, [1e300, -1e300], [float("inf")] * 5, list(range(5000))],
    ids=["none", "one", "a NaN", "only NaN", "huge", "infinite", "long"],
)
def test_any_curve_can_be_drawn(store: ScalarStore, values: list[float]) -> None:
    if values:
        add(store, "loss", 1, *values)
    assert drawn(store).shape[2] == 3


def test_abandoned_points_that_are_not_finite_can_be_drawn(store: ScalarStore) -> None:
    add(store, "loss", 1, 1.0, NAN, 2.0, NAN)
    store.open_segment(0)
    assert drawn(store).shape[2] == 3


@pytest.mark.parametrize("name", ["$x", "100%", "a_b^{", "$\\nope{$", "Größe 損失", "🚀", "\x1b["])
def test_any_name_and_tag_can_be_written(store: ScalarStore, name: str) -> None:
    add(store, name, 1, 0.5, 0.25)
    status = dataclasses.replace(STATUS, name=name, values={name: 0.25}, message=name, notice=name)
    assert drawn(store, status).shape[2] == 3


def filled(pixels: npt.NDArray[np.float64]) -> list[int]:
    """The rows of the picture that are not blank."""
    return [int(row) for row in np.flatnonzero((pixels < 0.9).any(axis=(1, 2)))]


@pytest.mark.parametrize(
    ("phase", "said"),
    [(Phase.RUNNING, "No metrics yet."), (Phase.FINISHED, "No metrics were recorded.")],
)
def test_a_run_without_metrics_says_whether_some_may_come(phase: Phase, said: str) -> None:
    status = dataclasses.replace(STATUS, phase=phase)
    assert [line for line, _ in _words(status, recorded=False)][-1] == said
    assert said not in [line for line, _ in _words(status, recorded=True)]


def words(text: str) -> list[str]:
    """The lines of a message in the picture."""
    status = dataclasses.replace(STATUS, message=text)
    return [line for line, _ in _words(status, recorded=True)][1:]


@pytest.mark.parametrize("phase", [Phase.FINISHED, Phase.STOPPED, Phase.FAILED])
def test_a_run_without_scalars_is_drawn_as_text_without_a_gap(
    store: ScalarStore, phase: Phase
) -> None:
    failure = "ValueError: no data" if phase is Phase.FAILED else None
    pixels = drawn(store, dataclasses.replace(STATUS, phase=phase, failure=failure))
    rows = filled(pixels)
    assert len(pixels) < 120
    assert max(np.diff([0, *rows, len(pixels)])) < 25
    assert bool(near(pixels, RED)) is (phase is Phase.FAILED)


def test_a_message_and_a_notice_are_drawn_above_the_curves_in_colour(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.arange(50.0))
    plain = drawn(store)
    status = dataclasses.replace(STATUS, message="No checkpoint at step 40: disk full")
    warned = drawn(store, status)
    assert near(plain, AMBER) == 0
    assert near(warned, AMBER) > 20
    told = drawn(store, dataclasses.replace(status, notice="Continues from ckpt-20."))
    assert len(told) - len(warned) == pytest.approx(len(warned) - len(plain), abs=1)
    curves = [near(pixels, BLUE) for pixels in (plain, warned, told)]
    assert min(curves) > 0.9 * max(curves), "the curves keep their room"
    long = drawn(store, dataclasses.replace(status, message="no room left " * 99))
    below, above = of(long, BLUE).any(axis=1), of(long, AMBER).any(axis=1)
    assert np.flatnonzero(above).max() < np.flatnonzero(below).min()


def test_a_long_message_is_wrapped_and_cut() -> None:
    lines = words("The training thread stands here:\n" + "  word" * 500)
    assert lines[0] == "The training thread stands here:"
    assert len(lines) == 8
    assert lines[-1] == "…"
    assert max(map(len, lines)) <= 144
    assert words("x" * 200) == ["x" * 144, "x" * 56], "also where there is no space"
    assert max(map(len, words("損" * 100))) == 72, "wide characters are two"


def test_no_line_of_text_is_wider_than_the_picture(store: ScalarStore) -> None:
    pixels = drawn(store, dataclasses.replace(STATUS, message="word wMrd 0123456789 " * 20))
    assert (pixels[:, -8:] > 0.9).all()


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


def test_pyplot_is_not_loaded() -> None:
    code = (
        "import sys\n"
        "from nbtrain.panel.figure import png\n"
        "from nbtrain.core.states import Phase, Status\n"
        "png(Status('digits', 'loop', Phase.FINISHED), [])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)


def test_any_thread_can_draw_it(store: ScalarStore) -> None:
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


def test_a_long_tag_does_not_shrink_its_curve(store: ScalarStore) -> None:
    add(store, "loss", 1, *np.sin(np.arange(100.0)))
    short = near(drawn(store), BLUE)
    other = ScalarStore()
    add(other, "l" * 200, 1, *np.sin(np.arange(100.0)))
    assert near(drawn(other), BLUE) > 0.8 * short


def test_recalled_points_are_drawn_at_their_steps(store: ScalarStore) -> None:
    whole, earlier = ScalarStore(), ScalarStore()
    for one in (whole, earlier):
        add(one, "loss", 1, *np.linspace(1.0, 0.5, 40))
        add(one, "accuracy", 1, *np.linspace(0.1, 0.9, 40))
    for one in (whole, store):
        one.open_segment(30)
        add(one, "accuracy", 31, 0.8, 0.85)
        add(one, "loss", 31, 0.6, 0.55)
    store.recall(earlier)
    np.testing.assert_array_equal(drawn(store), drawn(whole))
