"""What other dumps showed, earlier or later ones, is no evidence for more than they had.

Each cluster is judged side by side with the others: an archive of its coordinator, a dump, and one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.archived_dumps import BUSY, PLACES, Coordinator, Judged, at
from tests.writer import ABORT, checkpoint, copied_at, data, marker, put, segment
from txnlog.tables.layout import OPEN_TRANSACTIONS

pytestmark = pytest.mark.processes
APP, OTHER = 2000, 3000
# From when to when a copy was made, as far as dump.toml says so.
Copied = tuple[float, float | None] | None


def coordinator(*steps: tuple[float, str]) -> Coordinator:
    """An id that has a transaction in orders-0, by its steps, and one that is busy elsewhere all the time."""
    log = Coordinator()
    for name, producer_id in (("busy", BUSY), ("app", APP)):
        log.add(0, name, producer_id, "Empty", None)
    for minute, state in steps:
        log.add(minute, "app", APP, state, [] if state.startswith("Complete") else PLACES[0])
    for minute in range(5, 660, 5):
        log.transaction(minute + 0.25, "busy", BUSY, PLACES[1])
    log.records.sort(key=lambda record: record[0])
    return log


NOTHING = coordinator()
COMMIT = coordinator((540, "Ongoing"), (540.1, "PrepareCommit"), (540.2, "CompleteCommit"))
AT_500 = coordinator((499, "Ongoing"), (500, "PrepareCommit"), (500, "CompleteCommit"))
LATE = coordinator((570, "Ongoing"), (604, "PrepareCommit"), (604, "CompleteCommit"))
TWO = coordinator((540, "Ongoing"), (540.1, "PrepareCommit"), (540.2, "CompleteCommit"), (619, "Ongoing"))


def dump(
    root: Path,
    log: Coordinator,
    until: float,
    orders: Sequence[bytes] = (),
    *,
    of_orders: Copied = (600, 601),
    of_coordinator: Copied = (600, 601),
    has_topic_id: bool = True,
    modified: float = 600,
    log_start: int = 0,
) -> None:
    """A dump with the coordinator's records up to a minute on broker 2, and orders-0 from an offset on on broker 1."""
    lines = [f'cluster = "{root.name}"', "transaction_state_partitions = 1"]
    for broker, copied in (("1", of_orders), ("2", of_coordinator)):
        if copied:
            times = zip(("started", "ended"), copied, strict=True)
            stated = [
                f'{name} = "{datetime.fromtimestamp(at(it) / 1000, UTC).isoformat()}"' for name, it in times if it
            ]
            lines += [f'[copies."broker-{broker}"]', *stated]
    put(root / "dump.toml", "\n".join(lines))
    place = root / "broker-2" / "__transaction_state-0"
    segment(root / "broker-2", place.name, b"".join(log.batches(until, 0)))
    if has_topic_id:
        put(place / "partition.metadata", f"version: 0\ntopic_id: {'A' * 22}\n")
    put(root / "broker-2" / "replication-offset-checkpoint", checkpoint([("__transaction_state", 0, log.end(until))]))
    if orders:
        segment(root / "broker-1", "orders-0", b"".join(orders), log_start)
        for name, offset in (("replication-offset", log_start + len(orders)), ("log-start-offset", log_start)):
            put(root / "broker-1" / f"{name}-checkpoint", checkpoint([("orders", 0, offset)]))
    for folder in root.glob("broker-*"):
        copied_at(folder, at(modified))


def closed_by(minute: float, *batches: bytes) -> list[bytes]:
    """Batches, and an ABORT of another producer after them by which their broker dates them."""
    return [*batches, marker(len(batches), OTHER, kind=ABORT, max_timestamp=at(minute))]


def of_app(offset: int, minute: float) -> bytes:
    return data(offset, APP, max_timestamp=at(minute))


@pytest.fixture(scope="module")
def verdicts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of the latest dump of each cluster."""
    judged = Judged(spark, tmp_path_factory.mktemp("across"))
    archive, first, second = (judged.folder / name for name in ("archive", "first", "second"))
    lost = closed_by(545, of_app(0, 540))
    # The replica of broker 2 had left the in-sync replicas: its end is of a time before the commit. The archive has it.
    for name, end, has_topic_id in (
        ("stale", 540, True),
        ("stale, begun", 540.05, True),
        ("stale, unnamed", 540, False),
    ):
        dump(archive / name, COMMIT, 630)
        dump(second / name, COMMIT, end, lost, has_topic_id=has_topic_id)
    # Nothing is wrong with this copy; by now the archive knows more.
    dump(archive / "decided since", LATE, 630)
    dump(second / "decided since", LATE, 600, closed_by(575, of_app(0, 570)))
    dump(second / "not decided", LATE, 600, closed_by(575, of_app(0, 570)))
    # The data was in flight when broker 1 was copied, from minute 602 to 640, and has the time of an old event.
    in_flight = [of_app(0, 499), marker(1, APP, max_timestamp=at(500)), of_app(2, 500.2)]
    dump(first / "judged twice", AT_500, 611, in_flight, of_orders=None, of_coordinator=None, modified=500.5)
    for name in ("judged twice", "judged once"):
        dump(second / name, AT_500, 611, in_flight, of_orders=(602, 640), of_coordinator=(610, 611))
    # The older dump proves a commit; what joined the data since is in flight.
    joined = [*lost, of_app(2, 619.5)]
    dump(first / "kept, newer first", TWO, 620, joined, of_orders=(620, 621), of_coordinator=(620, 621))
    dump(second / "kept, newer first", TWO, 600, lost)
    # Brokers that were copied at the same time are judged one after the other: the second lacks the commit.
    dump(first / "kept, same time", COMMIT, 600, lost)
    dump(second / "kept, same time", NOTHING, 600, lost)
    # Of what was kept records were deleted: the rest is open from a later offset on.
    dump(first / "kept, from its beginning", COMMIT, 600, closed_by(545, of_app(0, 540), of_app(1, 540.05)))
    rest = [of_app(1, 540.05), marker(2, OTHER, kind=ABORT, max_timestamp=at(545))]
    for name in ("kept, from its beginning", "not kept, from its beginning"):
        dump(second / name, NOTHING, 620, rest, of_orders=(620, 621), of_coordinator=(620, 621), log_start=1)
    judged.archive(archive)
    judged.detect(first)
    judged.detect(second)
    rows = sorted(judged.rows(OPEN_TRANSACTIONS), key=lambda row: row["as_of"])
    return {row["cluster"]: f"{row['cause']} {row['action']} {row['confidence']}" for row in rows}


@pytest.mark.parametrize(
    ("cluster", "want"),
    [
        ("stale", "COVERAGE_GAP UNDETERMINED LOW"),
        ("stale, begun", "COVERAGE_GAP UNDETERMINED LOW"),
        ("stale, unnamed", "COVERAGE_GAP UNDETERMINED LOW"),
        ("not decided", "STUCK_ONGOING FENCE HIGH"),
        ("decided since", "COVERAGE_GAP UNDETERMINED LOW"),
        ("judged once", "SKEW UNDETERMINED LOW"),
        ("judged twice", "SKEW UNDETERMINED LOW"),
        ("kept, newer first", "MARKER_LOST_COMMIT KEEP MEDIUM"),
        ("kept, from its beginning", "MARKER_LOST_COMMIT KEEP MEDIUM"),
        ("not kept, from its beginning", "SKEW UNDETERMINED LOW"),
        ("kept, same time", "MARKER_LOST_COMMIT KEEP MEDIUM"),
    ],
)
def test_other_dumps_prove_no_more_than_they_show(verdicts: dict[str, str], cluster: str, want: str) -> None:
    assert verdicts[cluster] == want
