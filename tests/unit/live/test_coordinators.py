"""A partition of `__transaction_state` as a consumer gets it: gaps are noticed, whatever the cleaner does meanwhile."""

from __future__ import annotations

import pytest

from txnlog.config import detect_options
from txnlog.dump.dump_file import Inventory, LogDir
from txnlog.dump.log_dirs import UNNAMED
from txnlog.errors import ClusterError, OptionError
from txnlog.live.coordinators import Consumed, PartitionLog
from txnlog.live.settings import ClusterSettings, live_cluster, with_live_settings

LIVE = ClusterSettings("X", 60_000, 7)


def record(offset: int) -> Consumed:
    return Consumed(offset, 0, 1, b"", None)


def read(start: int, offsets: list[int], end: int) -> PartitionLog:
    log = PartitionLog(start, start)
    for offset in offsets:
        log.take(record(offset))
    log.reach(end)
    return log


@pytest.mark.parametrize(
    ("start", "offsets", "end", "gap_to"),
    [
        pytest.param(0, [0, 1, 2], 3, None, id="whole"),
        pytest.param(5, [5, 6], 7, None, id="whole from its start"),
        pytest.param(0, [2, 3], 4, 2, id="the cleaner took the first"),
        pytest.param(0, [0, 3, 4, 9], 10, 9, id="the last gap counts"),
        pytest.param(0, [0, 1], 4, 4, id="nothing before the end"),
        pytest.param(3, [], 3, None, id="empty"),
    ],
)
def test_gaps_are_bounded_from_above(start: int, offsets: list[int], end: int, gap_to: int | None) -> None:
    log = read(start, offsets, end)
    assert (log.position, log.gap_to, log.is_whole) == (end, gap_to, gap_to is None)
    assert [each.offset for each in log.records] == offsets


def dump(*log_dirs: tuple[str, str | None, int | None]) -> Inventory:
    made = [LogDir(f"d{n}", name, "1", None, timeout, None, of) for n, (name, of, timeout) in enumerate(log_dirs)]
    return Inventory(None, (), tuple(made))  # type: ignore[arg-type]


def completed(found: Inventory, **options: object) -> tuple[str | None, int | None, int | None]:
    complete = with_live_settings(detect_options({"dump": "d", "tables": "t", **options}), found, LIVE)
    return complete.cluster, complete.max_transaction_timeout, complete.coordinator_partitions


def test_what_is_left_open_is_what_the_cluster_says() -> None:
    assert completed(dump(("payments", "X", None))) == (None, 60_000, 7)
    assert completed(dump((UNNAMED, None, None))) == ("X", 60_000, 7)
    assert completed(dump(("p", "X", None)), max_transaction_timeout="5m", coordinator_partitions=3) == (
        None,
        300_000,
        3,
    )


def test_a_larger_timeout_of_the_manifest_counts() -> None:
    assert completed(dump(("p", "X", 90_000), ("p", None, None)))[1] == 90_000
    assert completed(dump(("p", "X", 30_000)))[1] == 60_000


def test_the_dump_of_another_cluster_or_of_two_is_refused() -> None:
    with pytest.raises(ClusterError, match="the running cluster's id is X, but the dump is of Y"):
        completed(dump(("p", "Y", None)))
    with pytest.raises(ClusterError, match="the dump is of X"):
        completed(dump(("p", "X", None), ("q", None, None)))


def test_live_coordinators_are_no_evidence_for_a_dump_that_may_be_of_another_cluster() -> None:
    options = {"bootstrap_server": "b:1", "live_coordinators": True}
    assert completed(dump(("p", "X", None), ("p", None, None)), **options)[2] == 7
    with pytest.raises(ClusterError, match="nothing in the dump says that it is of cluster X"):
        completed(dump(("p", None, None)), **options)


def test_live_coordinators_cannot_have_the_time_of_the_dump() -> None:
    options = {"bootstrap_server": "b:1", "live_coordinators": True}
    assert completed(dump(("p", "X", None)), **options)[2] == 7
    with pytest.raises(OptionError, match="as_of is one time for all copies"):
        live_cluster(detect_options({"dump": "d", "tables": "t", "as_of": "2026-11-21T12:00:00Z", **options}))
