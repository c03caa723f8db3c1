"""The log of a run: what its threads print and log, with the step, once, in `log.txt` too."""

from __future__ import annotations

import _thread
import io
import logging
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.log_lines import LogLine
from nbtrain.remote.attach import opened
from nbtrain.rundir.log_file import LogTail
from tests.gate import SOON, Gate
from tests.models import ticked
from tests.shells import own_shell

OF_LOGGING = logging.Logger.callHandlers


def trained(act: object, *, steps: int = 1, **options: object) -> nbtrain.Run:
    """An ended run, each step of which has called a function."""

    def step() -> dict[str, float]:
        act()  # type: ignore[operator]
        return {"loss": 1.0}

    return nbtrain.train(step, steps=steps, name="logged", **options).wait(SOON)  # type: ignore[arg-type]


def gated(gate: Gate) -> Callable[[], dict[str, float]]:
    """A step that passes a gate."""

    def step() -> dict[str, float]:
        gate()
        return {"loss": 1.0}

    return step


def told(run: nbtrain.Run) -> list[tuple[str, str, str]]:
    """Level, source and text of the lines of a run."""
    return [(line.level, line.source, line.text) for line in run.log]


def say_all() -> None:
    """Prints, logs and warns once in each way."""
    print("a print")
    print("to the standard error", file=sys.stderr)
    logging.getLogger("mine").warning("%d items", 3)
    warnings.warn("mind the gap", stacklevel=1)
    tf.get_logger().warning("of TensorFlow")


def test_all_that_the_training_thread_says_is_in_the_log_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = logging.StreamHandler(sys.stderr)
    monkeypatch.setattr(logging.getLogger("mine"), "handlers", [handler])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = trained(say_all)
    assert [str(each.message) for each in caught] == ["mind the gap"]
    assert [each for each in told(run) if each[1] != "warning"] == [
        ("INFO", "print", "a print"),
        ("INFO", "print", "to the standard error"),
        ("WARNING", "logging", "mine: 3 items"),
        ("WARNING", "tensorflow", "of TensorFlow"),
    ]
    (warned,) = (each for each in told(run) if each[1] == "warning")
    assert warned[2].startswith("UserWarning: mind the gap (test_run_log.py:")
    shown = capsys.readouterr()
    assert shown.out == "a print\n"
    assert shown.err.count("to the standard error\n") == shown.err.count("3 items\n") == 1


def test_a_line_has_the_completed_steps_and_is_in_the_file() -> None:
    count = iter(range(9))
    run = trained(lambda: print("step", next(count)), steps=3)
    assert [(line.step, line.text) for line in run.log] == [
        (0, "step 0"), (1, "step 1"), (2, "step 2"),
    ]  # fmt: skip
    written = LogTail(run.logdir / "log.txt").poll()
    assert [(line.step, line.text) for line in written] == [
        (line.step, line.text) for line in run.log
    ]


def test_other_threads_are_not_in_the_log_and_those_of_the_coordinator_are(gate: Gate) -> None:
    run = nbtrain.train(gated(gate), name="logged")
    gate.wait_for_arrivals()
    print("of the main thread")
    logging.getLogger("mine").warning("of the main thread")
    said = threading.Event()

    def loop() -> None:
        print("of a loop")
        said.set()

    run.loop(60.0, loop)
    assert said.wait(SOON)
    other = threading.Thread(target=print, args=["of another thread"])
    other.start()
    other.join()
    run.request_stop()
    gate.open()
    run.wait(SOON)
    assert [line.text for line in run.log] == ["of a loop"]


def test_a_progress_bar_is_one_line_and_colours_are_left_out() -> None:
    def bar() -> None:
        for part in range(0, 101, 10):
            sys.stderr.write(f"\r{part}%")
        sys.stderr.write("\n\x1b[31mred\x1b[0m\n\nno end")

    assert [line.text for line in trained(bar).log] == ["100%", "red", "no end"]


def test_a_line_that_ends_with_a_return_stays_until_another_text_replaces_it() -> None:
    def count() -> None:
        for part in range(3):
            print(f"part {part}", end="\r")
        print()
        print("no end", end="\r")

    assert [line.text for line in trained(count).log] == ["part 2", "no end"]


def test_a_progress_bar_of_another_process_is_read_without_what_it_has_replaced(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.txt"
    tail = LogTail(path)
    for part in range(100):
        with open(path, "ab") as file:
            file.write(b"part %d\r" % part)
        assert tail.poll() == []
        assert len(tail._rest) <= len(b"part 99\r")
    with open(path, "ab") as file:
        file.write(b"\nnext\n")
    assert [line.text for line in tail.poll()] == ["part 99", "next"]


def test_the_text_of_a_logged_error_is_a_line_each() -> None:
    def fail() -> None:
        try:
            raise ValueError("bad")
        except ValueError:
            logging.getLogger("mine").exception("it failed")

    lines = list(trained(fail).log)
    assert lines[0].text == "mine: it failed"
    assert lines[-1].text == "ValueError: bad"
    assert {line.level for line in lines} == {"ERROR"}


def test_a_line_that_cannot_be_formatted_does_not_end_the_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logger = logging.getLogger("mine")
    monkeypatch.setattr(logger, "propagate", False)  # to the handler of pytest, which raises
    monkeypatch.setattr(logger, "handlers", [logging.NullHandler()])
    run = trained(lambda: logger.warning("%d items", "three"))
    assert ("WARNING", "logging", "mine: %d items") in told(run)
    assert run.status.phase == "finished"


def test_prints_of_a_run_that_asks_for_it_are_only_in_its_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = trained(lambda: print("hushed"), prints="log")
    assert [line.text for line in run.log] == ["hushed"]
    assert capsys.readouterr().out == ""


def test_what_such_a_run_logs_and_warns_of_is_only_in_its_log_and_in_files_of_handlers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    logger = logging.getLogger("mine")
    to_file = logging.FileHandler(tmp_path / "mine.log")
    monkeypatch.setattr(logger, "handlers", [logging.StreamHandler(), to_file])
    monkeypatch.setattr(logger, "propagate", False)

    def step() -> None:
        logger.error("hushed")
        warnings.warn("hushed too", stacklevel=1)

    with pytest.warns(UserWarning, match="hushed too"):
        run = trained(step, prints="log")
    texts = "\n".join(line.text for line in run.log)
    assert "mine: hushed" in texts
    assert "UserWarning: hushed too" in texts
    assert capsys.readouterr().err == ""
    to_file.close()
    assert (tmp_path / "mine.log").read_text() == "hushed\n"


def test_another_place_for_prints_is_refused() -> None:
    with pytest.raises(ArgumentError, match='give "cell"'):
        nbtrain.train(lambda: {"loss": 1.0}, steps=1, prints="nowhere")  # type: ignore[arg-type]
    assert not Path("runs").exists()


def test_streams_handlers_and_warnings_are_as_before_after_the_run() -> None:
    def shows(*_args: object, **_more: object) -> None:
        pass

    warnings.showwarning, before = shows, warnings.showwarning
    try:
        out, written = sys.stdout, sys.stdout.write
        trained(lambda: print("x"))
        assert warnings.showwarning is shows
    finally:
        warnings.showwarning = before
    assert sys.stdout is out
    assert sys.stdout.write == written
    assert logging.Logger.callHandlers is OF_LOGGING


def test_prints_into_a_stream_that_stands_in_for_a_while_are_taken(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step() -> dict[str, float]:
        gate()
        print("said")
        return {"loss": 1.0}

    run = nbtrain.train(step, steps=1, name="logged")
    gate.wait_for_arrivals()
    other = io.StringIO()
    monkeypatch.setattr(sys, "stdout", other)
    ticked(run)  # the log has looked at the streams of now
    gate.open()
    run.wait(SOON)
    assert [line.text for line in run.log] == ["said"]
    assert other.getvalue() == "said\n"


class Stream(io.StringIO):
    """A stream of a class that is written in Python, as a kernel has it."""


@pytest.mark.parametrize("kind", [Stream, io.StringIO])
def test_prints_are_taken_once_after_the_cell_that_has_started_the_run(
    kind: type[io.StringIO], gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IPython puts back the `write` that a stream had before the cell, when the cell ends."""
    stream = kind()
    monkeypatch.setattr(sys, "stdout", stream)

    def step() -> dict[str, float]:
        gate()
        print("said")
        return {"loss": 1.0}

    with own_shell(tmp_path / "ipython") as shell:
        shell.user_ns |= {"gate": gate, "ticked": ticked, "step": step}
        shell.run_cell(
            "import nbtrain\n"
            "run = nbtrain.train(step, steps=3, name='logged')\n"
            "gate.wait_for_arrivals()"
        )
        run = shell.user_ns["run"]
        ticked(run)
        gate.allow(2)
        gate.wait_for_arrivals(2)
        shell.run_cell("ticked(run)\ngate.open()\nrun.wait(60)")
    assert [line.text for line in run.log] == ["said"] * 3
    assert stream.getvalue().count("said\n") == 3
    stream.write("more")
    assert stream.getvalue().endswith("more")


def test_lines_of_two_runs_are_not_mixed() -> None:
    meet = threading.Barrier(2)

    def start(name: str) -> nbtrain.Run:
        def step() -> dict[str, float]:
            meet.wait(SOON)
            print(f"of {name}")
            meet.wait(SOON)
            return {"loss": 1.0}

        return nbtrain.train(step, steps=2, name=name)

    runs = [start("one"), start("two")]
    for run in runs:
        run.wait(SOON)
        assert [line.text for line in run.log] == [f"of {run.name}"] * 2


def test_a_run_that_goes_on_has_the_lines_of_its_earlier_starts() -> None:
    trained(lambda: print("first"))
    nbtrain.runs().clear()
    again = trained(lambda: print("second"))
    assert [line.text for line in again.log] == ["first", "second"]


def test_a_fresh_run_has_only_its_own_lines() -> None:
    trained(lambda: print("first"))
    run = trained(lambda: print("second"), fresh=True)
    assert [line.text for line in run.log] == ["second"]
    assert Path("runs/logged-before-1/log.txt").is_file()


def test_a_log_that_cannot_be_written_is_told_and_kept_in_memory() -> None:
    Path("runs/logged/log.txt").mkdir(parents=True)
    run = trained(lambda: print("kept"))
    assert [line.text for line in run.log] == ["kept"]
    assert "log.txt cannot be written: Is a directory" in (run.status.message or "")


def test_an_attached_run_has_the_lines_of_the_file() -> None:
    run = trained(lambda: print("one\ntwo"))
    with opened(run.logdir) as attached:
        assert attached.read(SOON)
        assert [line.text for line in attached.log] == [line.text for line in run.log]


class OutStream(io.StringIO):
    """A stream of a kernel, as far as a log knows it."""


OutStream.__module__ = "ipykernel.iostream"


def test_under_the_cell_a_notebook_shows_the_first_thousand_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", out := OutStream())
    count = iter(range(2000))
    run = trained(lambda: print(next(count)), steps=1500)
    shown = out.getvalue().splitlines()
    assert len(run.log) == 1500
    assert shown[:2] == ["0", "1"]
    assert len(shown) == 1000
    assert shown[-1].endswith("runs/logged/log.txt")


def test_what_a_thread_outside_of_python_prints_is_in_the_log_as_the_process_s(gate: Gate) -> None:
    run = nbtrain.train(gated(gate), steps=1, name="logged")
    gate.wait_for_arrivals()
    said = threading.Event()

    def say() -> None:
        sys.stdout.write("of tf.print\n")
        said.set()

    _thread.start_new_thread(say, ())  # as a thread of TensorFlow's calls Python
    assert said.wait(SOON)
    gate.open()
    run.wait(SOON)
    assert told(run) == [("INFO", "process", "of tf.print")]


def test_what_a_kernel_reads_from_its_descriptors_is_in_the_log_as_the_process_s(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", out := OutStream())
    run = nbtrain.train(gated(gate), steps=1, name="logged")
    gate.wait_for_arrivals()
    reads = threading.Thread(target=lambda: sys.stderr.write("of tf.print\n"))
    out.watch_fd_thread = reads  # type: ignore[attr-defined]
    reads.start()
    reads.join()
    gate.open()
    run.wait(SOON)
    found = [line for line in run.log if line.source == "process"]
    assert found == [LogLine(found[0].wall_time, 0, "INFO", "process", "of tf.print")]
