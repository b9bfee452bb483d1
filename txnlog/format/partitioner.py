"""Which coordinator partition owns a transactional id (`TransactionStateManager.partitionFor`)."""

from __future__ import annotations

import struct

# transaction.state.log.num.partitions
DEFAULT_PARTITIONS = 50


def java_hash(text: str) -> int:
    """`String.hashCode`: over UTF-16 units, so that a character outside the BMP counts as two; int32."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    number = 0
    for unit in struct.unpack(f">{len(encoded) // 2}H", encoded):
        number = (31 * number + unit) & 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number


def coordinator_partition(transactional_id: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """The partition of `__transaction_state` that holds this id. `Utils.abs` makes 0 of the smallest int."""
    number = java_hash(transactional_id)
    return 0 if number == -(1 << 31) else abs(number) % partitions
