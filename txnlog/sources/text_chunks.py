"""The lines of a section in chunks of whole batches with all their records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from txnlog.dump.text_stream import LONGEST_LINE, Section
from txnlog.dump_log import dump_text
from txnlog.dump_log.line_layouts import Lines
from txnlog.dump_log.text_before_2_2 import A_RECORD

# The lines of one batch may be many; what a reader keeps of them is bounded.
LONGEST_BATCH = 16 << 20
MOST_RECORDS = 1_000_000


class Chunk(NamedTuple):
    """Lines of whole batches, and the position of the batch that follows, as far as it is known without its size."""

    lines: Lines
    next_position: int | None = None


def chunks(section: Section) -> Iterator[Chunk]:
    """The lines of a section in chunks of whole batches with all their records."""
    carried = b""
    for lines in section:
        content = carried + lines
        cut = _last_batch(content)
        if cut:
            yield Chunk(Lines(content[:cut]), _position(content, cut))
        carried = _shortened(content[cut:])
    if carried:
        yield Chunk(Lines(carried))


def _position(content: bytes, start: int) -> int | None:
    match = dump_text.POSITION.search(content, start, start + LONGEST_LINE)
    return int(match[1]) if match else None


def _last_batch(content: bytes) -> int:
    """Where the lines of the last batch start; 0 if there is only one."""
    batch = content.rfind(b"\n" + dump_text.BATCH) + 1
    message = content.rfind(b"\n" + dump_text.MESSAGE, max(batch - 1, 0)) + 1
    if message and not batch and A_RECORD.match(content, message):
        # Records alone: those of one batch have its position in common.
        position = dump_text.POSITION.search(content, message)
        first = content.find(position[0]) if position else -1
        return content.rfind(b"\n", 0, first) + 1 if first >= 0 else message
    return max(batch, message)


def _shortened(content: bytes) -> bytes:
    if len(content) <= LONGEST_BATCH:
        return content
    first, _, rest = content.partition(b"\n")
    records = rest.startswith(dump_text.RECORD) + rest.count(b"\n" + dump_text.RECORD)
    return first + b"\n" + (dump_text.RECORD + b"\n") * min(records, MOST_RECORDS)
