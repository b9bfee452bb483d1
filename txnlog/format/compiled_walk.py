"""The walk over many small batches in compiled code: Python takes longer for a step than for the bytes of a batch.

Imported by `txnlog.format.twins` only. Raises ImportError where numba is not installed, or the processor has no
instruction for CRC-32C: by tables the checksums of 1 KiB batches take as long as all of the walk in Python.

Two operations are written as LLVM's, as numba has no words for them. Without either of them, batches of 1 KiB are read
less than 1.5 times as fast as by Python's walk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import binding, ir
from numba import njit, types
from numba.extending import intrinsic

from txnlog.format import batch as wire
from txnlog.format.headers import NAMES
from txnlog.format.twins import compiled

Bytes = npt.NDArray[np.uint8]

# CRC-32C, its bits reversed (RFC 3720, section 12.1).
POLYNOMIAL = np.uint32(0x82F63B78)
ONES = np.uint32(0xFFFFFFFF)
WORD = 8
PAIRS, QUADS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
if not binding.get_host_cpu_features().get("sse4.2"):
    raise ImportError("the processor has no instruction for CRC-32C")

LENGTH_POSITION, LENGTH_END, MAGIC_POSITION = wire.LENGTH_POSITION, wire.LENGTH_END, wire.MAGIC_POSITION
CHECKED_FROM = wire.CHECKED_FROM
MAGIC = NAMES.index("magic")
SMALLEST, SMALLEST_LEGACY = wire.SMALLEST_BATCH_LENGTH, wire.SMALLEST_LEGACY_LENGTH


def _table() -> npt.NDArray[np.uint32]:
    """What a byte does to a checksum."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ POLYNOMIAL, table >> 1)
    return table


TABLE = _table()


def _operation(typed: Callable[..., Any]) -> Any:
    """An operation of the processor, by a function that gives its types and what generates it."""
    return intrinsic(typed)


@_operation
def _crc32_of_word(context: Any, crc: Any, word: Any) -> Any:
    """The instruction CRC32 of SSE 4.2: a checksum (u8) continued by the eight bytes of a word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word64 = ir.IntType(64)
        kind = ir.FunctionType(word64, [word64, word64])
        return builder.call(builder.module.declare_intrinsic("llvm.x86.sse42.crc32.64.64", (), kind), arguments)

    return types.uint64(types.uint64, types.uint64), generate


@_operation
def _word(context: Any, content: Any, place: Any) -> Any:
    """The eight bytes at a place (i8) of an array of bytes as one number, little endian, wherever they lie."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(array.data, [arguments[1]], source_etype=ir.IntType(8))
        word = builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), typ=ir.IntType(64))
        word.align = 1
        return word

    return types.uint64(content, types.int64), generate


@njit(inline="always")
def _big(content: Bytes, place: int) -> Any:
    """The eight bytes at `place` as a number, big endian, with its sign."""
    word = _word(content, place)
    # LLVM makes one instruction of that.
    word = (word & PAIRS) << np.uint64(8) | word >> np.uint64(8) & PAIRS
    word = (word & QUADS) << np.uint64(16) | word >> np.uint64(16) & QUADS
    return np.int64(word << np.uint64(32) | word >> np.uint64(32))


@njit(inline="always")
def _put_header(content: Bytes, place: int, table: Any, index: int) -> None:
    """The fields of `RecordBatchHeader`, in its order; eight bytes are read where fewer are wanted, too."""
    lengths, after_magic = _big(content, place + 8), _big(content, place + 16)
    table[0, index] = _big(content, place)
    table[1, index] = lengths >> 32
    table[2, index] = lengths << 32 >> 32
    table[3, index] = after_magic >> 56
    table[4, index] = after_magic >> 24 & 0xFFFFFFFF
    table[5, index] = after_magic << 40 >> 48
    table[6, index] = _big(content, place + 23) >> 32
    table[7, index] = _big(content, place + 27)
    table[8, index] = _big(content, place + 35)
    table[9, index] = _big(content, place + 43)
    table[10, index] = _big(content, place + 51) >> 48
    sequence_and_count = _big(content, place + 53)
    table[11, index] = sequence_and_count >> 32
    table[12, index] = sequence_and_count << 32 >> 32


@njit(inline="always")
def _crc(content: Bytes, place: int, end: int) -> Any:
    """CRC-32C of the bytes from a place to an end."""
    crc = ONES
    while place + WORD <= end:
        crc = np.uint32(_crc32_of_word(np.uint64(crc), _word(content, place)))
        place += WORD
    while place < end:
        crc = TABLE[(crc ^ content[place]) & 0xFF] ^ crc >> 8
        place += 1
    return crc ^ ONES


@compiled("i8(Array(u1, 1, 'C', readonly=True), i8[::1], i8[::1], i8[:, ::1])")
def walk(window: Bytes, starts: Any, crcs: Any, table: Any) -> int:
    """Put what `txnlog.format.walk.Steps` has into arrays: how many batches these are.

    `starts` takes one more, the end of the last; `table` (fields, n) takes the headers, of messages only the magic.
    """
    count, place, size = 0, 0, len(window)
    while place + MAGIC_POSITION < size and count < len(crcs):
        length = _big(window, place + LENGTH_POSITION) >> 32
        end = place + LENGTH_END + length
        is_modern = window[place + MAGIC_POSITION] > 1
        if length < (SMALLEST if is_modern else SMALLEST_LEGACY) or end > size:
            break
        starts[count] = place
        if is_modern:
            crcs[count] = _crc(window, place + CHECKED_FROM, end)
            _put_header(window, place, table, count)
        else:
            table[MAGIC, count] = window[place + MAGIC_POSITION]
        count, place = count + 1, end
    starts[count] = place
    return count
