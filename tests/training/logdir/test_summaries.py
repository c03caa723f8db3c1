"""`nbtrain.summaries`: images, histograms, text and audio, whoever wrote them."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nbtrain
from nbtrain.core.errors import ArgumentError, UnknownTagError
from nbtrain.logdir.reader import Reader
from nbtrain.logdir.summaries import Summaries
from nbtrain.tfevents.decode import Decoder
from nbtrain.tfevents.framing import frames_in
from nbtrain.tfevents.values import AudioValue, HistogramValue, Images, Text
from tests.event_files import (
    NAME,
    expected,
    read,
    records,
    rows,
    simple,
    start,
    written,
    written_at_once,
)
from tests.other_events import (
    KINDS,
    WAV,
    audio1,
    event,
    histogram1,
    image1,
    ours,
    png,
    tensor2,
    theirs,
)

v1 = tf.compat.v1


def found(reader: Reader, run: str = ".") -> dict[tuple[str, str], list[tuple[int, float, str]]]:
    """Returns the values that a reader has of a run, by kind and tag, without abandoned ones."""
    every = {}
    for kind in KINDS:
        for (_, tag), history in Summaries(reader, kind, f"^{run}$").items():
            places = np.flatnonzero(~history.abandoned).tolist()
            steps, times = history.steps.tolist(), history.wall_times.tolist()
            every[kind, tag] = [(steps[i], times[i], ours(history[i])) for i in places]
    return every


# --- as TensorBoard reads them ----------------------------------------------------


@st.composite
def summary_values(draw: st.DrawFn) -> Any:
    """A value of any kind and writer, and what names its plugin: it, or the tag's first one."""
    kind, number = draw(st.sampled_from(KINDS)), draw(st.integers(0, 2))
    tag, named = f"{kind}/{number}", draw(st.booleans())
    old = draw(st.booleans())
    if kind == "images":
        if old:
            return image1(tag, number)
        shown = [png(colour=number)] * draw(st.integers(0, 3))
        return tensor2(tag, kind, [b"2", b"3", *shown], named=named)
    if kind == "histograms":
        if old:
            return histogram1(tag, draw(st.lists(st.integers(0, 3), min_size=3, max_size=9)))
        buckets = draw(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 3), max_size=5))
        return tensor2(tag, kind, np.array(buckets, np.float64).reshape(-1, 3), named=named)
    if kind == "audio":
        if old:
            return audio1(tag, number)
        clips = np.array([[WAV, b"label"]] * draw(st.integers(1, 3)), object)
        return tensor2(tag, kind, clips[:, 0] if draw(st.booleans()) else clips, named=named)
    shape = draw(st.sampled_from([(), (1,), (3,), (2, 2), (0,)]))
    words = draw(st.lists(st.text(max_size=5), min_size=4, max_size=4))
    texts = [word.encode() for word in words[: int(np.prod(shape))]]
    return tensor2(tag, kind, np.array(texts, object).reshape(shape), named=named)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(values=st.lists(st.tuples(st.integers(0, 9), summary_values()), max_size=20))
def test_every_value_is_that_of_tensorboards_reader(
    values: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("run")
    seen: set[str] = set()
    events = [v1.Event(wall_time=1.0, file_version="brain.Event:2")]
    for step, value in sorted(values, key=lambda pair: pair[0]):
        kind = value.tag.split("/")[0]
        if value.tag not in seen and value.HasField("tensor"):
            value.metadata.plugin_data.plugin_name = kind  # as all writers name the first
        seen.add(value.tag)
        events.append(event(step, value, float(step)))
    written(folder / NAME, events)
    assert found(read(folder)) == theirs(folder)


def test_the_first_metadata_of_a_tag_decide_its_kind(tmp_path: Path) -> None:
    texts = [event(step, tensor2("x", "text", b"words"), step) for step in (1, 2)]
    scalars = [simple("x", step, 0.5, step) for step in range(3, 30)]
    other = [event(30, image1("x"), 30.0), event(31, tensor2("x", "scalars", 1.0), 31.0)]
    loss = [simple("loss", step, 0.5, step) for step in range(1, 30)]
    version = v1.Event(wall_time=0.0, file_version="brain.Event:2")
    after = [event(31, image1("loss"), 31.0)]
    written(tmp_path / NAME, [version, *texts, *scalars, *other, *loss, *after])
    reader = read(tmp_path)
    assert [*found(reader)] == [("text", "x")] == [*theirs(tmp_path)]
    assert [step for step, *_ in found(reader)["text", "x"]] == [1, 2]
    assert reader.tags(".") == ["loss"]


def test_values_of_tensorflow_2_are_read(tmp_path: Path) -> None:
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        for step in range(3):
            tf.summary.image("image", np.full((2, 4, 5, 3), step / 3), step)
            tf.summary.histogram("histogram", np.arange(step, 100.0), step)
            tf.summary.text("text", [["a", "ü"], ["<b>", str(step)]], step)
            tf.summary.audio("audio", np.zeros((2, 9, 1), np.float32), 8000, step)
            tf.summary.scalar("loss", 1.0, step)
    reader = read(tmp_path)
    assert found(reader) == theirs(tmp_path)
    assert len(found(reader)) == len(KINDS)
    images = Summaries(reader, "images")[".", "image"][-1]
    assert isinstance(images, Images)
    assert (images.width, images.height, len(images.encoded)) == (5, 4, 2)
    assert reader.tags(".") == ["loss"]


def test_event_files_of_a_tensorflow_1_file_writer_are_read(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.Session() as session, v1.summary.FileWriter(tmp_path) as writer:
        v1.summary.image("image", np.full((2, 4, 5, 3), 0.5, np.float32))
        v1.summary.histogram("histogram", np.arange(100.0))
        v1.summary.audio("audio", np.zeros((1, 9, 1), np.float32), 8000)
        v1.summary.text("text", tf.constant(["a", "b"]))
        merged = v1.summary.merge_all()
        for step in range(3):
            writer.add_summary(session.run(merged), step)
    every = found(read(tmp_path))
    assert every == theirs(tmp_path)
    assert {kind: len(values) for (kind, _), values in every.items()} == dict.fromkeys(KINDS, 3)


def test_values_of_tensorboardx_are_read(tmp_path: Path) -> None:
    with tensorboardX.SummaryWriter(str(tmp_path)) as writer:
        for step in range(3):
            writer.add_scalar("loss", step / 2, step)
            writer.add_image("image", np.full((3, 4, 5), 60 * step, np.uint8), step)
            writer.add_histogram("histogram", np.arange(step, 100.0), step)
            writer.add_text("text", f"**{step}** <b>", step)
            writer.add_audio("audio", np.zeros(9), step, 8000)
    reader = read(tmp_path)
    every = found(reader)
    assert every == theirs(tmp_path)
    assert {kind for kind, _ in every} == set(KINDS)
    (path,) = tmp_path.iterdir()
    assert rows(reader)["loss"] == expected(path)["loss"]


def test_a_histogram_keeps_the_digits_that_were_written(tmp_path: Path) -> None:
    written(tmp_path / NAME, [event(1, histogram1("h", [0, 2, 1, 0]))])
    value = nbtrain.summaries(tmp_path, "histograms")[".", "h"][0]
    assert isinstance(value, HistogramValue)
    assert value.buckets.tolist() == [[-7.5, 0.0, 2.0], [0.0, 99.25, 1.0]]


def test_a_tag_may_be_of_one_kind_here_and_of_another_there(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [event(1, image1("x"))])
    written(tmp_path / "b" / NAME, [event(1, tensor2("x", "text", b"words"))])
    written(tmp_path / "c" / NAME, [simple("x", 1, 1.0)])
    assert list(nbtrain.summaries(tmp_path, "images")) == [("a", "x")]
    assert list(nbtrain.summaries(tmp_path, "text")) == [("b", "x")]
    assert list(nbtrain.scalars(tmp_path)) == [("c", "x")]


@pytest.mark.parametrize("count", [3, 300])
def test_a_number_of_another_plugin_is_no_scalar_where_only_the_first_is_named(
    count: int, tmp_path: Path
) -> None:
    events = [
        event(step, tensor2("other", "pr_curves", np.float32(step), named=not step))
        for step in range(count)
    ]
    events += [
        event(step, tensor2("loss", "scalars", np.float32(step), named=not step))
        for step in range(count)
    ]
    written(tmp_path / NAME, events)
    log = nbtrain.scalars(tmp_path)
    assert {key: len(points) for key, points in log.items()} == {(".", "loss"): count}


def test_remote_files_are_read_through_tensorflow() -> None:
    tf.io.gfile.makedirs("ram://summaries/a")
    with tf.io.TFRecordWriter(f"ram://summaries/a/{NAME}") as writer:
        for number in range(3):
            writer.write(event(number, image1("x", number)).SerializeToString())
    history = nbtrain.summaries("ram://summaries", "images")["a", "x"]
    assert history[1] == Images(2, 3, (png(colour=1),))
    tf.io.gfile.remove(f"ram://summaries/a/{NAME}")
    with pytest.raises(FileNotFoundError, match="has gone since it was looked at"):
        history[1]


# --- what they are ----------------------------------------------------------------


def test_a_history_tells_its_steps_and_reads_a_value_when_asked(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [event(3 * n, image1("x", n), n) for n in range(4)])
    log = nbtrain.summaries(tmp_path, "images")
    history = log["a", "x"]
    assert history.steps.tolist() == [0, 3, 6, 9]
    assert history.wall_times.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert not history.abandoned.any()
    assert [value == Images(2, 3, (png(colour=n),)) for n, value in enumerate(history)] == [
        True
    ] * 4
    assert history[-1] == history[np.int64(3)] == history[3]
    assert repr(history) == "<images 'x': 4 values, steps 0 to 9>"
    assert repr(history[0]) == "<1 image of 2 × 3 pixels>"
    assert repr(log) == f"<images of 1 run and 1 tag in {str(tmp_path)!r}>"
    for index in (4, -5):
        with pytest.raises(IndexError, match=r"there are 4 values"):
            history[index]


def test_expressions_choose_runs_and_tags_and_more_is_read(tmp_path: Path) -> None:
    written(tmp_path / "a" / NAME, [event(1, image1("x")), event(1, image1("y"))])
    log = nbtrain.summaries(tmp_path, "images", tags="x")
    assert list(log) == [("a", "x")]
    written(tmp_path / "b" / NAME, [event(1, image1("x"))])
    assert log.refresh()
    assert list(log.filter(runs="b")) == [("b", "x")]
    with pytest.raises(UnknownTagError, match=r"The run 'b' has no tag 'y'; it has: 'x'"):
        log["b", "y"]


def test_an_unknown_kind_raises(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"kind='videos' is no kind .* 'images', 'histograms',"):
        nbtrain.summaries(tmp_path, "videos")


def test_a_text_is_what_was_written_and_nothing_of_it_is_meant(tmp_path: Path) -> None:
    html = "<script>alert(1)</script>"
    table = np.array([[b"a", b"b"], [html.encode(), b"\xff"]], object)
    values = [html.encode(), table, np.array([], object).astype(bytes)]
    written(tmp_path / NAME, [event(n, tensor2("t", "text", v)) for n, v in enumerate(values)])
    texts = list(nbtrain.summaries(tmp_path, "text")[".", "t"])
    assert [str(text) for text in texts] == [html, f"a\tb\n{html}\t\N{REPLACEMENT CHARACTER}", ""]
    assert all(isinstance(text, Text) for text in texts)
    assert not any(
        hasattr(text, "_repr_html_") or hasattr(text, "_repr_markdown_") for text in texts
    )


@pytest.mark.parametrize(
    ("begin", "kind"),
    [
        (WAV, "audio/wav"),
        (b"ID3\x04", "audio/mpeg"),
        (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/flac"),
        (b"<html>", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_the_type_of_a_sound_is_what_it_begins_with(
    begin: bytes, kind: str, tmp_path: Path
) -> None:
    sound = audio1("a")
    sound.audio.encoded_audio_string, sound.audio.content_type = begin, "text/html"
    written(tmp_path / NAME, [event(1, sound)])
    value = nbtrain.summaries(tmp_path, "audio")[".", "a"][0]
    assert value == AudioValue((begin,), kind, ("",))


def test_the_labels_of_sounds(tmp_path: Path) -> None:
    clips = np.array([[WAV, b"one"], [WAV, b"two"]], object)
    written(tmp_path / NAME, [event(1, tensor2("a", "audio", clips))])
    assert nbtrain.summaries(tmp_path, "audio")[".", "a"][0] == AudioValue(
        (WAV, WAV), "audio/wav", ("one", "two")
    )


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("images", np.ones(3), r"tensor of type float64 and shape \(3,\)"),
        ("images", [b"wide", b"high"], "invalid literal"),
        ("images", [b"1"], "not enough values"),
        ("histograms", np.ones((2, 2)), r"its shape is \(2, 2\), not \(k, 3\)"),
        ("histograms", [b"a"], "could not convert"),
        ("text", np.ones(3), "tensor of type float64"),
        ("audio", np.ones(3), "tensor of type float64"),
        ("audio", b"alone", "unsized"),
    ],
)
def test_a_value_without_the_form_of_its_kind_raises_with_a_reason(
    kind: str, data: Any, words: str, tmp_path: Path
) -> None:
    written(tmp_path / NAME, [event(1, tensor2("x", kind, data)), simple("loss", 1, 1.0)])
    history = nbtrain.summaries(tmp_path, kind)[".", "x"]
    with pytest.raises(ArgumentError, match=rf"tag 'x' has not the form of {kind}: .*{words}"):
        history[0]


@pytest.mark.parametrize(
    ("kind", "shape"), [("text", (1000,) * 5), ("text", (1000, 2)), ("histograms", (1000, 3))]
)
def test_a_shape_that_says_more_than_there_is_costs_nothing(
    kind: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    value = tensor2("x", kind, b"few" if kind == "text" else 1.0)
    for size in shape:
        value.tensor.tensor_shape.dim.add(size=size)
    written(tmp_path / NAME, [event(1, value)])
    with pytest.raises(ArgumentError, match=re.escape(f"its shape is {shape}, and it has")):
        nbtrain.summaries(tmp_path, kind)[".", "x"][0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", range(32))
def test_a_tensor_of_any_type_is_read_or_refused_in_words(
    kind: str, dtype: int, tmp_path: Path
) -> None:
    value = tensor2("x", kind, b"few")
    value.tensor.dtype = dtype
    value.tensor.half_val.append(1 << 20)
    written(tmp_path / NAME, [event(1, value)])
    history = nbtrain.summaries(tmp_path, kind)[".", "x"]
    if kind == "text" and dtype == v1.string.as_datatype_enum:
        assert str(history[0]) == "few"
    else:
        with pytest.raises(ArgumentError, match=f"tag 'x' has not the form of {kind}"):
            history[0]


# --- restarts ---------------------------------------------------------------------


def test_a_restart_abandons_what_was_written_beyond_its_step(tmp_path: Path) -> None:
    before = [start(0, 0.0), *(event(step, image1("x", step), step) for step in range(6))]
    after = [event(step, image1("x", 9), 20.0 + step) for step in (3, 4)]
    written(tmp_path / NAME, [*before, start(3, 15.0), *after])
    history = nbtrain.summaries(tmp_path, "images")[".", "x"]
    assert history.steps[~history.abandoned].tolist() == [0, 1, 2, 3, 4]
    assert history.abandoned.tolist() == [False] * 3 + [True] * 3 + [False] * 2


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_steps_that_go_back_leave_what_tensorboard_leaves(
    steps: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("run")
    written(folder / NAME, [event(step, image1("x", n), n) for n, step in enumerate(steps)])
    assert found(read(folder)) == theirs(folder)


# --- damage -----------------------------------------------------------------------


def mixed_file(path: Path, steps: int = 1) -> Path:
    """A small file of everything: of each kind so many records, and one of two kinds."""
    events = [v1.Event(wall_time=1.0, file_version="brain.Event:2")]
    for step in range(1, steps + 1):
        events.append(simple("loss", step, step / 2, step))
        events.append(event(step, image1("image", step), step))
        events.append(event(step, histogram1("histogram", [0, step, 1, 0]), step))
        events.append(event(step, tensor2("text", "text", b"words %d" % step), step))
        events.append(event(step, tensor2("audio", "audio", [WAV]), step))
    both = event(3, image1("image", 3), 3.0)
    both.summary.value.append(simple("loss", 3, 1.0).summary.value[0])
    return written(path, [*events, both, simple("loss", 4, 1.0, 4.0)])


def flat(reader: Reader) -> set[Any]:
    """Everything that a reader has of one run."""
    scalars = {(tag, row) for tag, all_rows in rows(reader).items() for row in all_rows}
    return scalars | {(key, row) for key, all_rows in found(reader).items() for row in all_rows}


def test_a_byte_changed_anywhere_costs_one_record_and_no_value_is_wrong(tmp_path: Path) -> None:
    content = mixed_file(tmp_path / "whole" / NAME).read_bytes()
    wanted = flat(read(tmp_path / "whole"))
    assert len(wanted) == 8
    changed = tmp_path / "changed" / NAME
    changed.parent.mkdir()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        changed.write_bytes(damaged)
        there = flat(read(changed.parent))
        assert there <= wanted, place
        assert len(wanted - there) <= 2, place  # the record of both


def test_a_file_cut_anywhere_gives_the_records_before_the_cut_and_then_the_rest(
    tmp_path: Path,
) -> None:
    content = mixed_file(tmp_path / "whole" / NAME).read_bytes()
    wanted, ends = flat(read(tmp_path / "whole")), records(content)
    cut = tmp_path / "cut" / NAME
    cut.parent.mkdir()
    before: set[Any] = set()
    for size in range(len(content)):
        cut.write_bytes(content[:size])
        reader = read(cut.parent)
        there = flat(reader)
        assert before <= there <= wanted
        whole = sum(end <= size for end in ends)
        assert whole - 1 <= len(there) <= whole  # the first has nothing, one of the last both
        before = there
        with cut.open("ab") as file:
            file.write(content[size:])
        reader.scan()
        reader.read()
        assert flat(reader) == wanted


def test_a_byte_changed_after_it_was_looked_at_gives_the_value_or_says_so(tmp_path: Path) -> None:
    path = mixed_file(tmp_path / NAME, steps=2)
    content, reader = path.read_bytes(), read(tmp_path)
    history = Summaries(reader, "images")[".", "image"]
    wanted, told = [ours(value) for value in history], 0
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        for index, value in enumerate(wanted):
            try:
                assert ours(history[index]) == value, place
            except OSError:
                told += 1
    ends = records(content)
    sizes = [ends[number] - ends[number - 1] - 12 for number in (2, 7, 11)]
    assert told == sum(sizes)


def test_a_file_that_has_gone_says_so(tmp_path: Path) -> None:
    path = mixed_file(tmp_path / NAME)
    history = nbtrain.summaries(tmp_path, "images")[".", "image"]
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"has gone since it was looked at: refresh\(\)"):
        history[0]


def test_a_replaced_file_raises_an_error_and_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / NAME, [event(step, image1("x", step)) for step in (1, 2, 3)])
    log = nbtrain.summaries(tmp_path, "images")
    history = log[".", "x"]
    later = event(2, image1("x", 9), 1.8e9)
    written(tmp_path / "new", [event(5, image1("x", 1)), later]).replace(path)
    for index in (0, 1, 2):  # another step, another time, nothing
        with pytest.raises(OSError, match=r"is no longer what it was at byte \d+: refresh\(\)"):
            history[index]
    log.refresh()
    history = log[".", "x"]
    assert history.steps[~history.abandoned].tolist() == [2]
    assert history[1] == Images(2, 3, (png(colour=9),))


def test_a_record_that_is_no_event_is_skipped_and_told(tmp_path: Path) -> None:
    with tf.io.TFRecordWriter(str(tmp_path / NAME)) as writer:
        writer.write(b"\xff" * 40)
        writer.write(simple("loss", 1, 1.0).SerializeToString())
    reader = read(tmp_path)
    assert rows(reader) == {"loss": [(1, 1.7e9, 1.0)]}
    assert reader.skipped() == {".": 56}


def test_a_scalar_of_an_impossible_tensor_is_left_out(tmp_path: Path) -> None:
    odd = [tensor2("odd", "scalars", 1.0) for _ in range(5)]
    odd[0].tensor.dtype = 99
    odd[3].tensor.dtype = tf.resource.as_datatype_enum
    odd[4].tensor.dtype = tf.half.as_datatype_enum
    odd[4].tensor.half_val.append(1 << 20)
    odd[1].tensor.ClearField("float_val")
    odd[1].tensor.tensor_content = b"abc"
    odd[2].tensor.tensor_shape.dim.add(size=1 << 50)
    written(tmp_path / NAME, [*(event(1, value) for value in odd), simple("loss", 1, 1.0)])
    assert rows(read(tmp_path)) == {"loss": [(1, 1.7e9, 1.0)]}


# --- sizes ------------------------------------------------------------------------


def test_no_image_is_kept_in_memory(tmp_path: Path) -> None:
    value = image1("x")
    value.image.encoded_image_string = png() + bytes(1 << 20)
    written(tmp_path / NAME, [event(step, value) for step in range(40)])
    read(tmp_path)  # what is loaded once
    tracemalloc.start()
    reader = read(tmp_path)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reader.count(".", "x", "images") == 40
    assert kept < 1 << 19


def test_ten_thousand_tags(tmp_path: Path) -> None:
    events = [event(1, image1(f"tag/{n}", n % 256)) for n in range(10_000)]
    written_at_once(tmp_path / NAME, events)
    log = nbtrain.summaries(tmp_path, "images")
    assert len(log) == 10_000
    assert log[".", "tag/9999"][0] == Images(2, 3, (png(colour=9999 % 256),))


def test_scalars_beside_images_are_decoded_all_at_once(tmp_path: Path) -> None:
    events = []
    for step in range(1, 1001):
        events += [simple("loss", step, step), simple("accuracy", step, step)]
        if step % 100 == 0:
            events.append(event(step, image1("x")))
    path = written(tmp_path / NAME, events)
    data = np.frombuffer(path.read_bytes(), np.uint8)
    batch = Decoder().decode(data, frames_in(data))
    assert len(batch.others) == 10
    assert rows(read(tmp_path)) == expected(path)
