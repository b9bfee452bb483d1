"""How many partitions `__transaction_state` has: stated, or proved by the ids that its records are of.

The record of a transactional id lies in partition `abs(hash(id)) % N` (`TransactionStateManager.partitionFor`), so N
divides each id's hash less its partition. N is not guessed: with Kafka's default of 50 in place of 100 half of the
coordinators would be missing without a word.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_records import PLACE
from txnlog.detection.partition_copies import IS_COORDINATOR

# So many ids of a partition are enough to tell N; all of them are held against a stated number.
IDS = 200
# More than anybody has; a larger divisor of few ids' hashes is no evidence.
LARGEST = 10_000
# Java's String.hashCode goes over UTF-16 units: a character beyond the first 65 536 is two of them.
_POINTS = "transform(sequence(1, length(transactional_id)), i -> bigint(ascii(substring(transactional_id, i, 1))))"
_UNITS = (
    f"flatten(transform({_POINTS}, c -> if(c < 65536, array(c),"
    " array(55296 + shiftright(c - 65536, 10), 56320 + (c - 65536) % 1024))))"
)
_UNSIGNED = f"aggregate({_UNITS}, 0L, (hash, unit) -> (hash * 31 + unit) % 4294967296)"
# Utils.abs makes 0 of the lowest int.
_ABS = "if(transactional_id = '', 0L, if(unsigned < 2147483648, unsigned, (4294967296 - unsigned) % 2147483648))"
# Euclid's algorithm on 31 bits takes at most 46 steps.
_GCD = (
    "aggregate(sequence(1, 46), named_struct('a', {a}, 'b', {b}),"
    " (s, _) -> if(s.b = 0, s, named_struct('a', s.b, 'b', s.a % s.b)), s -> s.a)"
)


def partition_counts(states: DataFrame, copies: DataFrame, checkpoints: DataFrame, clusters: DataFrame) -> DataFrame:
    """`clusters`, with `partition_count` (int): the number that is stated, or the only one that the ids allow.

    Null where it is neither, or where there is a partition beyond the stated number: in a copy, or in a broker's
    checkpoint, which names those that were not copied, too. `possible_counts` are the numbers that the ids allow,
    `contradicting_ids` some ids that a stated number (`stated_count`) would put into other partitions.
    """
    known = states.where("transactional_id IS NOT NULL AND problem IS NULL").selectExpr(*PLACE, "transactional_id")
    ids = with_hash(known.distinct()).join(clusters.selectExpr("cluster", "stated_count"), ["cluster"], "inner")
    of_partition = summed(
        ids,
        PLACE,
        f"slice(collect_set(abs(id_hash - coordinator_partition)), 1, {IDS}) AS multiples",
        "min(if(pmod(id_hash, stated_count) <> coordinator_partition, transactional_id, NULL)) AS contradicting_id",
    )
    found = summed(
        of_partition,
        ("cluster",),
        "flatten(collect_list(multiples)) AS multiples",
        "slice(sort_array(collect_set(contradicting_id)), 1, 3) AS contradicting_ids",
    )
    named = (each.where(IS_COORDINATOR).selectExpr("cluster", "partition") for each in (copies, checkpoints))
    present = summed(reduce(DataFrame.unionByName, named), ("cluster",), "max(partition) AS last_partition")
    divisor = f"aggregate(multiples, 0L, (a, b) -> {_GCD.format(a='a', b='b')})"
    possible = (
        f"if(divisor > 0, filter(sequence(1, cast(least(divisor, {LARGEST}) AS int)),"
        " n -> divisor % n = 0 AND n > last_partition), NULL)"
    )
    proved = f"if(size(possible_counts) = 1 AND divisor <= {LARGEST}, possible_counts[0], NULL)"
    stated = "if(size(contradicting_ids) > 0 OR stated_count <= last_partition, NULL, stated_count)"
    return (
        clusters.join(found, ["cluster"], "left")
        .join(present, ["cluster"], "left")
        .selectExpr("*", f"{divisor} AS divisor", f"{possible} AS possible_counts")
        .selectExpr(
            "* EXCEPT (multiples, divisor, last_partition)",
            f"coalesce({stated}, if(stated_count IS NULL, {proved}, NULL)) AS partition_count",
        )
    )


def with_hash(ids: DataFrame) -> DataFrame:
    """`ids`, with `id_hash` (bigint): `Utils.abs` of Java's `String.hashCode` of `transactional_id`."""
    hashed = ids.selectExpr("*", f"{_UNSIGNED} AS unsigned")
    return hashed.selectExpr("* EXCEPT (unsigned)", f"{_ABS} AS id_hash")
