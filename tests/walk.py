"""What the walk through a segment finds, in the shape that tests compare."""

from __future__ import annotations

from tests.writer import Bytes
from txnlog.format.batch import RecordBatchHeader
from txnlog.format.scan import Kind, Run, Stretch, scan


def pieces(content: bytes) -> list[Run | Stretch]:
    """What the walk finds, once it is clear that every byte is in exactly one piece, in order."""
    found = list(scan(Bytes(content)))
    assert [piece.start for piece in found] == [0, *(piece.end for piece in found)][: len(found)]
    assert (found[-1].end if found else 0) == len(content)
    for piece in found:
        assert piece.end > piece.start
    return found


def batches(found: list[Run | Stretch]) -> dict[int, RecordBatchHeader]:
    """The whole batches by their position."""
    return {
        int(position): run.headers.row(index)
        for run in found
        if isinstance(run, Run)
        for index, position in enumerate(run.positions)
    }


def stretches(found: list[Run | Stretch]) -> list[tuple[int, int, Kind]]:
    return [(piece.start, piece.end, piece.kind) for piece in found if isinstance(piece, Stretch)]


def damaged(content: bytes) -> bytes:
    """The batch with another last byte: its checksum does not match any more."""
    return content[:-1] + bytes([content[-1] ^ 1])
