"""Decodes many small files at once.

A call of NumPy costs as much for ten records as for a thousand. So small files are joined and
decoded as one stretch. Runs of one program mostly have records of the same lengths, so the headers
of a file are first searched at the offsets of the headers in the file before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbtrain.core.values.arrays import IntArray
from nbtrain.tfevents.crc import crc32c, masked
from nbtrain.tfevents.decode import Decoded, Decoder
from nbtrain.tfevents.framing import FOOTER, HEADER, ByteArray, Frames, headers_in, lengths_at
from nbtrain.tfevents.tail import Other, Piece


def pieces_of(files: Sequence[bytes], decoder: Decoder) -> list[tuple[Piece, int] | None]:
    """Decodes whole files.

    Args:
        files: The contents of each file.

    Returns:
        For each file its records and the end of the last complete one; None for a file that is
        damaged, or has no complete record, so that its `Tail` must read it.
    """
    data = np.frombuffer(b"".join(files), np.uint8)
    bounds = np.cumsum([0, *map(len, files)])
    frames, owners, bad = _frames(data, files, bounds)
    batch = decoder.decode(data, frames)
    bad.update(owners[batch.damaged + batch.doubtful].tolist())
    others = _others(data, frames, batch.others)
    bad.update(owners[[row for row, payload in others.items() if payload is None]].tolist())
    ends = np.zeros(len(files), np.int64)
    ends[owners] = frames.starts + frames.lengths + FOOTER  # the end of the last record remains
    ends -= bounds[:-1]
    pieces = [
        None if number in bad or end <= 0 else (Piece([], [], 0), end)
        for number, end in enumerate(ends.tolist())
    ]
    for row, payload in others.items():
        found = pieces[int(owners[row])]
        if found is not None and payload is not None:
            offset = int(frames.starts[row] - bounds[owners[row]])
            found[0].others.append(Other(row, offset, payload))
    for bare in (False, True):
        several = [each for each in batch.scalars if each.bare is bare]
        if not several:
            continue
        scalars = Decoded.joined(several)
        for part in scalars.parts(owners[scalars.rows] * len(decoder.tags) + scalars.tags):
            found = pieces[owners[part.rows[0]]]
            if found is not None:
                found[0].scalars.append(part)
    return pieces


def _frames(
    data: ByteArray, files: Sequence[bytes], bounds: IntArray
) -> tuple[Frames, IntArray, set[int]]:
    """Returns the complete records of all files, the file of each, and the damaged files."""
    walks: list[IntArray] = []
    like = None
    for file in files:
        like = headers_in(np.frombuffer(file, np.uint8), like)
        walks.append(like)
    owners = np.repeat(np.arange(len(files)), [len(walk) for walk in walks])
    offsets = np.concatenate(walks) + bounds[owners]
    lengths, true = lengths_at(data, offsets)
    bad = set(owners[~true].tolist())
    room = bounds[owners + 1] - offsets - HEADER - FOOTER
    whole = (room >= 0) & (lengths <= np.maximum(room, 0).astype(np.uint64)) & true
    owners, starts, lengths = owners[whole], offsets[whole] + HEADER, lengths[whole]
    return Frames(starts, lengths.astype(np.int64), len(data), False, 0), owners, bad


def _others(data: ByteArray, frames: Frames, rows: list[int]) -> dict[int, bytes | None]:
    """Returns the payloads of some records; None in place of one with a wrong checksum."""
    rows.sort()
    starts, lengths = frames.starts[rows], frames.lengths[rows]
    places = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
    payloads = [data[start:end].tobytes() for start, end in places]
    footers = np.ndarray((len(data) - FOOTER + 1,), "<u4", data, 0, (1,))[starts + lengths]
    whole = masked(np.array([crc32c(payload) for payload in payloads], np.uint32)) == footers
    each = zip(rows, payloads, whole.tolist(), strict=True)
    return {row: payload if right else None for row, payload, right in each}
