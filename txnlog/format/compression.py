"""The codecs of record batches, with an end to what they may expand to."""

from __future__ import annotations

import pyarrow as pa

from txnlog.errors import FormatError
from txnlog.format.batch import CODECS

# A coordinator's batch is read by the broker into a 5 MiB buffer that grows to one batch
# (`transaction.state.log.load.buffer.size`); what expands further is not one.
LARGEST_EXPANDED = 64 << 20
XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER_SIZE = 16
_PIECE = 1 << 20


def decompressed(payload: bytes, codec: int, largest: int = LARGEST_EXPANDED) -> bytes:
    """The records of a batch as they were before compression; `codec` is bits 0-2 of the attributes."""
    if codec >= len(CODECS):
        raise FormatError(f"compression codec {codec} is not known")
    name = CODECS[codec]
    if name == "none":
        return payload
    try:
        return _snappy(payload, largest) if name == "snappy" else _streamed(payload, name, largest)
    except (pa.ArrowInvalid, OSError) as error:
        raise FormatError(f"{name} cannot be decompressed: {str(error).splitlines()[0]}") from error


def _streamed(payload: bytes, name: str, largest: int) -> bytes:
    pieces, size = [], 0
    with pa.CompressedInputStream(pa.BufferReader(payload), name) as stream:
        while piece := stream.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > largest:
                raise FormatError(f"{name} expands to more than {largest} bytes")
    return b"".join(pieces)


def _snappy(payload: bytes, largest: int) -> bytes:
    """Blocks framed as the Java library by Xerial does: a header, then length and raw block in turn."""
    if not payload.startswith(XERIAL_MAGIC):
        return _snappy_block(payload, largest, 0)
    pieces, position, size = [], XERIAL_HEADER_SIZE, 0
    while position < len(payload):
        length = int.from_bytes(payload[position : position + 4], "big", signed=True)
        start = position + 4
        if length < 0 or start + length > len(payload):
            raise FormatError(f"a snappy block claims {length} bytes", position)
        piece = _snappy_block(payload[start : start + length], largest - size, position)
        pieces.append(piece)
        size += len(piece)
        position = start + length
    return b"".join(pieces)


def _snappy_block(block: bytes, largest: int, position: int) -> bytes:
    size = _snappy_size(block, position)
    if size > largest:
        raise FormatError(f"snappy expands to more than {largest} bytes", position)
    return pa.Codec("snappy").decompress(block, decompressed_size=size, asbytes=True) if size else b""


def _snappy_size(block: bytes, position: int) -> int:
    size = 0
    for index, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return size
    raise FormatError("a snappy block has no length", position)
