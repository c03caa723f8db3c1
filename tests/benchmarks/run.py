"""Measures what nbtrain costs, and prints one table; asserts nothing.

python tests/benchmarks/run.py [--quick] [--only WORD] [--out FILE] [--page FILE]
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks import measured, page  # noqa: E402 - the path comes first
from tests.benchmarks.kernel import in_kernel, kernel  # noqa: E402
from tests.benchmarks.measured import ONE_THREAD  # noqa: E402

Row = tuple[str, str, str]

# Ways of nbtrain's to own the loop; the others are controls and peers.
OURS = (
    *("own loop", "track", "track in the foreground", "train"),
    *("supervise", "supervise with a feed"),
)

# Sessions of TensorFlow's classes: what nbtrain may add to a step.
SESSION_AIM = "10 µs"
SESSIONS = {"Supervisor": SESSION_AIM}


def step_rows(*, quick: bool) -> Iterable[Row]:
    """The added cost of a step of a graph and of a function."""
    from tests.benchmarks.ways import PEERS

    yield from _steps("graph step", "GraphStep", "1.03", quick=quick)
    yield from _steps("tf.function step", "function_step", "1.005", quick=quick)
    for peer in PEERS:
        if (out := measured.peer_steps(peer, quick=quick)) is not None:
            yield from _added(f"graph step of {out['step_us']:,.0f} µs", out, "")


def _steps(words: str, make: str, aim: str, *, quick: bool) -> Iterator[Row]:
    out = measured.steps(make, quick=quick)
    name = f"{words} of {out['step_us']:,.0f} µs"
    sizes = [size for kind, size in out["messages"] if kind == "pts"]
    yield f"{name}: recorded", f"{out['recorded']:,} of {out['taken']:,}", "every step"
    largest = f"{len(sizes)} updates, largest {max(sizes, default=0):,} bytes on the wire"
    yield f"{name}: page", largest, "2 kB"
    yield from _added(name, out, aim)


def _added(name: str, out: dict[str, Any], aim: str) -> Iterator[Row]:
    """The cost that each way adds to a step."""
    for way in out["typical"]:
        aims = (aim, "3 µs", "5 ms") if way in OURS else ("", SESSIONS.get(way, ""), "")
        typical = f"{out['typical'][way]:.3f} / {out['mean'][way]:.3f}"
        yield f"{name}, {way}: training thread, typical / mean", typical, aims[0]
        low, middle, _ = out["cpu_us"][way]
        cpu = f"{middle:.2f} µs (quiet quarter {low:.2f})"
        yield f"{name}, {way}: CPU added to the training thread", cpu, aims[1]
        if way in out["everything"]:
            low, middle, mean = out["everything"][way]
            ratios = f"{low:.3f} / {middle:.3f} / {mean:.3f}"
            yield f"{name}, {way}: everything, quiet quarter / median / mean", ratios, aims[0]
            stalls = _stalls(out["stalls"][way])
            yield f"{name}, {way}: longest stall", stalls, f"bare + {aims[2]}" if aims[2] else ""


def session_rows(*, quick: bool) -> Iterator[Row]:
    """The added cost of a step of a MonitoredSession, plain and under a run."""
    chunks, rounds = (60, 5) if quick else (600, 20)
    for kind in ("RunHook", "monitor"):
        with kernel() as fresh:
            fresh.execute(
                f"{ONE_THREAD}bench = interleaved.Interleaved(steps.GraphStep, chunks={chunks}, "
                f"rounds={rounds}, session={kind!r})"
            )
            fresh.look()
            out = fresh.execute("out = bench.figures()")
        name = f"session step of {out['step_us']:,.0f} µs"
        yield f"{name}, {kind}: recorded", f"{out['recorded']:,} of {out['taken']:,}", "every step"
        for way in ("again", "MonitoredSession", kind):
            low, middle, _ = out["cpu_us"][way]
            cpu = f"{middle:.2f} µs (quiet quarter {low:.2f})"
            yield f"{name}, {way}: CPU added to that of a raw session's loop", cpu, ""
        plain, ours = out["cpu_us"]["MonitoredSession"], out["cpu_us"][kind]
        cpu = f"{ours[1] - plain[1]:.2f} µs (quiet quarter {ours[0] - plain[0]:.2f})"
        yield f"{name}, {kind}: CPU added to that of a MonitoredSession's", cpu, SESSION_AIM
        low, middle, mean = out["everything"][kind]
        ratios = f"{low:.3f} / {middle:.3f} / {mean:.3f}"
        yield f"{name}, {kind}: everything, quiet quarter / median / mean", ratios, ""


def keras_rows(*, quick: bool) -> Iterator[Row]:
    """The added cost of a Keras fit under nbtrain and with other tools."""
    from tests.benchmarks.keras_fit import WAYS

    for way in WAYS:
        out = measured.fits(way, quick=quick)
        if out is None:
            continue
        low, middle, high = out["ratios"]
        name = f"Keras batch of {out['batch_us']:,.0f} µs, {way}"
        if out["recorded"] is not None:
            recorded = f"{out['recorded']:,} of {out['batches']:,}"
            yield f"{name}: recorded, and in the event file", recorded, "every batch"
        wall = f"{middle:.3f} ({low:.3f} to {high:.3f})"
        yield (
            f"{name}: wall time, quartiles of pairs",
            wall,
            "1.015" if way == "nbtrain.fit" else "",
        )
        yield f"{name}: CPU added to its thread", f"{out['cpu_us'][1]:.1f} µs a batch", ""


def fit_rows(*, quick: bool) -> Iterator[Row]:
    """The cost that a fit under nbtrain adds to a batch, beside Keras's own ways to watch one."""
    from tests.benchmarks.fit_turns import WAYS

    cases = [(way, batches, 1) for way in WAYS for batches in (500, 6_000)]
    cases += [(way, 60_000, 10) for way in WAYS if way.startswith("nbtrain")]
    for way, batches, size in cases:
        batches = batches // 10 if quick and batches > 500 else batches
        with kernel() as fresh:
            out = fresh.execute(
                f"{ONE_THREAD}from tests.benchmarks import fit_turns\n"
                f"out = fit_turns.measure({way!r}, {batches}, size={size})"
            )
        load = os.getloadavg()[0]
        wall, cpu = out["plain"]
        many = f", {size} an execution" if size > 1 else ""
        name = f"Keras batch of {wall:,.0f} µs ({cpu:,.0f} of CPU), {batches:,} batches{many}"
        for which in ("again", "own"):
            found = out[which]
            words = " / ".join(
                f"{ratio:.3f} (quiet quarter {low:.3f}), {added:+.1f} µs"
                for ratio, low, added in zip(
                    found["ratio"], found["quiet"], found["added"], strict=True
                )
            )
            label = way if which == "own" else f"{way}: plain Keras again"
            aim = "1.01, 5 µs" if which == "own" and way.startswith("nbtrain") else ""
            yield f"{name}, {label}: wall / CPU of the thread, load {load:.1f}", words, aim


def _stalls(found: dict[str, float]) -> str:
    return (
        f"{found['block_ms']:.1f} ms a block, {found['longest_ms']:.1f} in all; "
        f"{found['per_minute']:.0f} a minute above 5 ms"
    )


def update_rows(*, quick: bool) -> Iterable[Row]:
    """One update of the panel."""
    turns = 40 if quick else 150
    for points in (1_000, 100_000, 1_000_000):
        with kernel() as fresh:
            fresh.execute(f"{ONE_THREAD}updates = costs.Updates({points}, turns={turns})")
            messages = fresh.look()
            out = fresh.execute("out = updates.figures()")
        name = f"panel update at {points:,} points"
        cpu = f"{out['cpu_ms']:.2f} ms (calling thread {out['thread_ms']:.2f})"
        yield f"{name}: CPU of the kernel", cpu, "1 ms"
        # The last one tells of the end, with all that changes then.
        sizes = sorted(size for kind, size in messages[:-1] if kind == "pts")
        middle = sizes[len(sizes) // 2] if sizes else 0
        size = f"{middle:,} bytes, largest {sizes[-1] if sizes else 0:,}"
        yield f"{name}: on the wire, {len(sizes)} updates", size, "2 kB"


def memory_rows(*, quick: bool) -> Iterable[Row]:
    """Memory and reading."""
    from tests.benchmarks import costs

    out = costs.memory()
    kept = f"{out['kept_mb']:.1f} MB (peak {out['peak_mb']:.1f}; resident {out['rss_mb']:.1f})"
    yield "a million points: memory", kept, "40 MB"
    for what, name in (("view", "buckets of all curves"), ("read", "run.scalars[...]")):
        times = f"{out[f'{what}_ms_few']:.3f} ms; {out[f'{what}_ms_all']:.3f} ms"
        yield f"{name} at a thousand; at a million points", times, ""


def import_rows(*, quick: bool) -> Iterable[Row]:
    """The import."""
    from tests.benchmarks import costs

    out = costs.import_figures()
    loads = f"{out['ms']:.1f} ms; {out['modules']} modules, {out['heavy']} heavy ones"
    yield "import nbtrain", loads, "50 ms; no heavy ones"


def record_rows(*, quick: bool) -> Iterable[Row]:
    """Bursts and drains."""
    out = in_kernel(f"{ONE_THREAD}out = costs.burst()")
    speed = f"{out['steps_per_s']:,.0f} steps/s; thinned {out['thinned']:,} of {out['steps']:,}"
    yield "burst of records", speed, "thinned, and said so"
    told = str(out["message"] or "nothing").replace("\n", " ")
    yield "burst of records: told", told, "said so if thinned"
    longest = f"{out['longest_ms']:.1f} ms (an empty loop {out['bare_longest_ms']:.1f})"
    yield "burst of records: longest step", longest, "never blocks"
    grown = f"{out['peak_mb']:.0f} MB, of which the {out['kept']:,} points {out['kept_mb']:.0f}"
    yield "burst of records: memory of the process grew by", grown, "bounded"
    for what, rate in in_kernel(f"{ONE_THREAD}out = costs.drains()").items():
        yield f"drain, {what}", f"{rate:,.0f} records/s", ""


def reading_rows(*, quick: bool) -> Iterable[Row]:
    """Event files, beside other readers of them."""
    from tests.benchmarks import reading

    aims = {"EventAccumulator": "30 times", "summary_iterator": "5 times", "data server": "twice"}
    for layout in reading.LAYOUTS:
        runs, events, figures = measured.readers(layout, quick=quick)
        name = layout.replace("many", f"{runs:,}")
        ours = figures["nbtrain"]
        for reader, found in figures.items():
            times = found["secs"] / ours["secs"]
            kept, peak = found["kept"] / events, found["peak"] / events
            words = (
                f"{found['secs']:.2f} s of CPU; {kept:.0f} bytes an event, {peak:.0f} at the peak"
            )
            yield (
                f"{events:,} scalars, {name}: {reader}",
                words if reader == "nbtrain" else f"{words}; {times:.1f} times nbtrain's",
                aims.get(reader, "32 bytes an event, 64 at the peak"),
            )


def watching_rows(*, quick: bool) -> Iterable[Row]:
    """A logdir that is followed, and one that is shown first."""
    from tests.benchmarks import reading, watching

    polls = [1e3 * secs for secs in watching.idle_polls(5 if quick else 50)]
    yield "poll with nothing new, 200 files, 1 GB in all", _middle(polls, "ms"), "5 ms"
    seen = watching.until_seen(5 if quick else 40)
    yield "event in the page after its flush", _middle(seen, "s"), "1 s"
    events = reading.EVENTS // (10 if quick else 1)
    first, everything = watching.first_picture(events)
    took = f"{first:.2f} s after the call; all is read after {everything:.2f} s"
    yield f"first picture of {events:,} scalars", took, "2 s"


def opening_rows(*, quick: bool) -> Iterable[Row]:
    """The first widget of a fresh kernel, which has not loaded TensorFlow."""
    for what, found in measured.pictures(quick=quick).items():
        yield f"first picture: {what}", _middle(found, "s"), "" if "empty" in what else "0.15 s"


def door_rows(*, quick: bool) -> Iterable[Row]:
    """Runs of other processes, seen and steered through their folders."""
    from tests.benchmarks import doors

    for name, found in doors.polls(1000, 3 if quick else 20).items():
        row = f"1,000 status files of tasks looked at, {name} of them new, CPU"
        yield row, _middle([1e3 * secs for secs in found], "ms"), "20 ms"
    share = 100 * doors.idle_share(5 if quick else 30)
    yield "status file and mailbox of a run that is left alone", f"{share:.2f} % of a core", "0.5 %"
    single, took, lines = doors.commands(5 if quick else 40, 60 if quick else 501, 3)
    yield "command by the mailbox until its answer", _middle(single, "s"), "0.5 s"
    words = f"{lines:,} in the journal, all are answered after {took:.2f} s"
    yield f"{60 if quick else 501} commands of 3 processes at once", words, "each once"
    attached, everything = doors.until_attached(1_000_000)
    took_words = f"{attached:.2f} s; all points after {everything:.2f} s"
    yield "attaching a run of 1,000,000 points", took_words, "picture in 1 s"


def hour_rows(*, quick: bool) -> Iterable[Row]:
    """An hour of a run in the memory of its page and of its kernel."""
    from tests.benchmarks import hour

    minutes = 10 if quick else hour.MINUTES
    held = list(hour.page(minutes))
    _, warm, *_, end = held
    name = f"page with every section open, {minutes} minutes"
    for what in end:
        each = ", ".join(f"{found[what]:,}" for found in held)
        yield f"{name}: {what}", f"{each}; {end[what] / warm[what]:.3f} times", "level"
    found = hour.resident(minutes)
    sizes = ", ".join(f"{size / 1e6:.0f}" for size in found)
    grown = (found[-1] - found[1]) / 1e6
    points = 10 * 600 * minutes * 8 / 10
    per_point = f"{1e6 * grown / points:.0f} bytes for each new point"
    yield f"kernel, {minutes} minutes: resident MB", f"{sizes}; {per_point}", "the points alone"


def _middle(found: list[float], unit: str) -> str:
    return f"{statistics.median(found):.2f} {unit} (longest {max(found):.2f})"


PARTS = {
    "reading": reading_rows,
    "watching": watching_rows,
    "opening": opening_rows,
    "doors": door_rows,
    "steps": step_rows,
    "sessions": session_rows,
    "keras": keras_rows,
    "fit": fit_rows,
    "updates": update_rows,
    "memory": memory_rows,
    "import": import_rows,
    "records": record_rows,
    "hour": hour_rows,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what nbtrain costs.")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, noisier figures")
    parser.add_argument("--only", choices=PARTS, help="measure only this")
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    parser.add_argument("--page", type=Path, help="write the comparison with others to this file")
    options = parser.parse_args()
    load: Any = os.getloadavg()
    where = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    lines = [f"{where}, load {load[0]:.1f} at the start.", ""]
    lines += ["| what | measured | aim |", "|---|---|---|"]
    print("\n".join(lines))
    for name, rows in PARTS.items():
        for row in rows(quick=options.quick) if options.only in (None, name) else ():
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    lines += ["", f"Load {os.getloadavg()[0]:.1f} at the end."]
    print(lines[-1])
    if options.page:
        options.page.write_text(page.written(quick=options.quick), encoding="utf-8")
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
