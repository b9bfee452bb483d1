"""Which coordinator partition owns a transactional id (`TransactionStateManager.partitionFor`)."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

# transaction.state.log.num.partitions
DEFAULT_PARTITIONS = 50


def java_hash(text: str) -> int:
    """`String.hashCode`: over UTF-16 units, so that a character outside the BMP counts as two; int32."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    number = 0
    for unit in struct.unpack(f">{len(encoded) // 2}H", encoded):
        number = (31 * number + unit) & 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number


def java_hashes(
    content: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """`java_hash` of ASCII texts that lie in `content`, each from one of `starts` on."""
    numbers = np.zeros(len(starts), np.uint32)
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        numbers[longer] = 31 * numbers[longer] + content[starts[longer] + place]
    return numbers.view(np.int32)


def coordinator_partition(transactional_id: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """The partition of `__transaction_state` that holds this id. `Utils.abs` makes 0 of the smallest int."""
    number = java_hash(transactional_id)
    return 0 if number == -(1 << 31) else abs(number) % partitions


def partitions_of_hashes(numbers: npt.NDArray[np.int32], partitions: int) -> npt.NDArray[np.int64]:
    """The partitions that hold ids with these hashes."""
    wide = numbers.astype(np.int64)
    return np.where(wide == -(1 << 31), 0, np.abs(wide) % partitions)
