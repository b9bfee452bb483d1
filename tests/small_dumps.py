"""Small dumps with hanging transactions, for tests of the whole job: one broker, one partition of each topic."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from tests.coordinator_writer import coordinator_record
from tests.writer import ABORT, NOW, batch, checkpoint, copied_at, data, marker, put, segment
from txnlog.format.coordinator import TransactionState
from txnlog.live.cluster import LEGAL_NAME

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
FIRST_PRODUCER_ID = 1000
OTHER_PRODUCER_ID = 1


class Hanging(NamedTuple):
    """A transaction that its coordinator never heard of; without an id no coordinator knows its producer."""

    topic: str
    transactional_id: str | None


ORDERS = (*(Hanging("orders", f"shop-{number}") for number in range(3)), Hanging("orders", None))


def small_dump(
    root: Path,
    transactions: Sequence[Hanging] = ORDERS,
    *,
    cluster: str = "small",
    copied: int = NOW + 2 * HOUR,
    ended: Collection[int] = (),
) -> Path:
    """A dump in which each of the transactions (sorted by topic) is to be aborted, but for those `ended` by now."""
    broker = root / "broker-1"
    put(broker / "meta.properties", "cluster.id=small\nbroker.id=1\n")
    ids = dict(enumerate((each.transactional_id for each in transactions), FIRST_PRODUCER_ID))
    ends = {"__transaction_state": _coordinator(broker, ids)}
    producers = iter(ids)
    for topic, group in groupby(transactions, lambda each: each.topic):
        ends[topic] = _partition(broker, topic, [next(producers) for _ in group], ended, copied)
    # With a name that Kafka does not allow the whole file could not be read.
    known = [(topic, 0, end) for topic, end in ends.items() if LEGAL_NAME.fullmatch(topic)]
    put(broker / "replication-offset-checkpoint", checkpoint(known))
    copied_at(broker, copied)
    put(root / "dump.toml", _manifest(cluster, copied))
    return root


def _coordinator(broker: Path, ids: dict[int, str | None]) -> int:
    """Each id is known, had a transaction in another partition long before, and has none now."""
    records = [
        coordinator_record(
            TransactionState(producer_id, 0, MINUTE, "CompleteCommit", [], NOW - DAY, NOW - DAY), name, delta=delta
        )
        for delta, (producer_id, name) in enumerate((each, name) for each, name in ids.items() if name is not None)
    ]
    stamps: dict[str, Any] = {"base_timestamp": NOW - DAY, "max_timestamp": NOW - DAY}
    segment(broker, "__transaction_state-0", batch(0, records, **stamps) if records else b"")
    return len(records)


def _partition(broker: Path, topic: str, producer_ids: list[int], ended: Collection[int], copied: int) -> int:
    # The markers of another producer tell by a broker's clock how old the data between them is.
    # They are ABORTs, as a COMMIT of an id that no coordinator knows is a sign of lost records.
    content = [marker(0, OTHER_PRODUCER_ID, kind=ABORT, max_timestamp=NOW - HOUR)]
    content += [data(offset, producer_id) for offset, producer_id in enumerate(producer_ids, 1)]
    content.append(marker(len(content), OTHER_PRODUCER_ID, kind=ABORT, max_timestamp=NOW + MINUTE))
    for producer_id in ended:
        if producer_id in producer_ids:
            content.append(marker(len(content), producer_id, kind=ABORT, max_timestamp=copied - MINUTE))
    segment(broker, f"{topic}-0", b"".join(content))
    return len(content)


def _manifest(cluster: str, copied: int) -> str:
    started, finished = (datetime.fromtimestamp(each / 1000, UTC).isoformat() for each in (copied, copied + MINUTE))
    # A text of TOML is written like one of JSON, but for the character that JSON leaves as it is.
    name = json.dumps(cluster, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f'cluster = {name}\nstarted = "{started}"\nended = "{finished}"\ntransaction_state_partitions = 1\n'
