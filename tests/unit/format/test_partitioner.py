"""Which coordinator owns an id: the values that `String.hashCode` and `Utils.abs` of a real Java gave."""

from __future__ import annotations

import numpy as np
import pytest

from txnlog.format.partitioner import coordinator_partition, java_hash, java_hashes, partitions_of_hashes

# id, hash, partition of 50, partition of 7
BY_JAVA = [
    ("", 0, 0, 0),
    ("a", 97, 47, 6),
    ("orders-none", -1813940960, 10, 6),
    ("my-app-3_17-0", -435302718, 18, 4),
    ("late-write-1", 2080461212, 12, 4),
    ("AaAaBB", 1952508096, 46, 0),
    ("BBBBAa", 1952508096, 46, 0),
    ("a\0b", 93315, 15, 5),
    ("été", 227742, 42, 4),
    ("tx-中文", 111392995, 45, 0),
    ("\uffff\ufffe", 2097119, 19, 3),
    pytest.param("\N{ROCKET}-payments", -1466666025, 25, 6, id="a character outside the BMP is two UTF-16 units"),
    pytest.param("\N{MUSICAL SYMBOL G CLEF}", 1772394, 44, 1, id="nothing but such a character"),
    pytest.param("polygenelubricants", -(2**31), 0, 0, id="the smallest int has no absolute value"),
]


@pytest.mark.parametrize(("transactional_id", "number", "of_50", "of_7"), BY_JAVA)
def test_an_id_belongs_to_the_partition_that_java_says(
    transactional_id: str, number: int, of_50: int, of_7: int
) -> None:
    """Item 27."""
    assert java_hash(transactional_id) == number
    assert coordinator_partition(transactional_id) == of_50
    assert coordinator_partition(transactional_id, 7) == of_7


def test_many_ids_are_hashed_as_each_of_them() -> None:
    ids = ["", "a", "orders-none", "my-app-3_17-0", "late-write-1", "AaAaBB", "a\0b", "polygenelubricants"]
    lengths = np.array(list(map(len, ids)))
    hashes = java_hashes(np.frombuffer("".join(ids).encode(), np.uint8), np.cumsum(lengths) - lengths, lengths)
    assert hashes.tolist() == [java_hash(each) for each in ids]
    for partitions in (7, 50):
        expected = [coordinator_partition(each, partitions) for each in ids]
        assert partitions_of_hashes(hashes, partitions).tolist() == expected


def test_ids_of_the_real_coordinator_lie_where_they_are_computed_to_lie() -> None:
    """`orders-none` was found in `__transaction_state-10` of a broker with 50 partitions."""
    assert coordinator_partition("orders-none", 50) == 10


def test_half_a_character_is_hashed_as_java_hashes_it() -> None:
    assert java_hash("\ud83d") == 0xD83D
