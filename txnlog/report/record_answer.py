"""`txnlog record`: what became of one record, by each copy in a dump, and its transactional id, by the tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from txnlog.errors import OptionError
from txnlog.report.open_there import open_there
from txnlog.report.partition_findings import CLOCK_SKEW_MS, ENDED
from txnlog.report.recorded import OfProducer, recorded
from txnlog.report.table_rows import answer, rows_if_there, text_literal
from txnlog.sources.log_copy import Place
from txnlog.sources.outcome import Outcome, RecordOutcome
from txnlog.sources.record_search import Batch
from txnlog.sources.together import together
from txnlog.tables.layout import RUNS, TRANSACTIONAL_IDS, TRANSACTIONS, Root
from txnlog.times import EARLIEST_MS, epoch_ms

Row = dict[str, Any]


class Known(NamedTuple):
    """What the tables know of a record. `transaction` is the one that its marker ended, a row of `transactions`, by
    EPOCH or TIME (`matched_by`). `is_older`: the record is of an earlier one, which has no marker here, or was written
    late. `torn`: one of which the coordinator decided otherwise, if the marker can be of no other (`torn_by`).

    By the latest dump that has the partition: `open_transaction` is its row of `open_transactions` if its transaction
    is open, `stops_at` where read_committed consumers stop, if that is at the record or before it, and `as_of` when
    that dump was taken.
    """

    transactional_ids: Sequence[str] = ()
    transaction: Row | None = None
    matched_by: str | None = None
    is_older: bool = False
    torn: Row | None = None
    torn_by: str | None = None
    open_transaction: Row | None = None
    stops_at: int | None = None
    as_of: datetime | None = None


class RecordAnswer(NamedTuple):
    """What became of the record at an offset."""

    cluster: str
    place: Place
    offset: int
    outcome: Outcome
    copies: Sequence[RecordOutcome]
    known: Known | None = None

    @property
    def deciding(self) -> RecordOutcome:
        """A copy that says what all say together."""
        return next((each for each in self.copies if each.outcome == self.outcome), self.copies[0])


def answered(
    cluster: str, place: Place, offset: int, copies: Sequence[RecordOutcome], root: Root | None
) -> RecordAnswer:
    """The answer by all copies; with tables, also whose record it is."""
    found = RecordAnswer(cluster, place, offset, together(copies), copies)
    if root is None or found.outcome is Outcome.CONTRADICTED:
        return found
    return found._replace(known=_known(root, found))


def check_has(root: Root, cluster: str) -> None:
    """`OptionError` for tables in which nothing of a cluster is, `TableError` where there are none at all.

    What they know of its ids would be nothing, as of an unknown producer id.
    """
    select = "SELECT DISTINCT cluster FROM found"
    known = {row["cluster"] for table in (RUNS, TRANSACTIONS) for row in answer(root, select, found=table)}
    if cluster not in known:
        named = ", ".join(sorted(known)) or "no cluster"
        raise OptionError(f"--tables: {root.text} has nothing of {cluster}; it has {named}")


def _known(root: Root, found: RecordAnswer) -> Known:
    batch, marker = found.deciding.batch, found.deciding.ended_by
    known, of_cluster = Known(), f"cluster = {text_literal(found.cluster)}"
    if batch is None:
        return known
    if not batch.is_control:
        before = open_there(root, of_cluster, found.place, f"start_offset <= {batch.base_offset}")
        known = _with_open(known, before, batch)
    if batch.producer_id < 0:
        return known
    of_id = f"{of_cluster} AND producer_id = {batch.producer_id}"
    ids = rows_if_there(root, TRANSACTIONAL_IDS, of_id, "transactional_id")
    known = known._replace(transactional_ids=[row["transactional_id"] for row in ids])
    if marker is None or marker.marker is None:
        return known
    transactions = OfProducer(recorded(root, of_id, found.place))
    transaction, by = transactions.of_marker(marker.producer_epoch, marker.max_timestamp, marker.marker)
    if transaction is not None:
        return known._replace(transaction=transaction, matched_by=by, is_older=_is_older(batch, transaction))
    torn, by = transactions.of_marker(marker.producer_epoch, marker.max_timestamp, None, CLOCK_SKEW_MS)
    return known if torn is None or torn["outcome"] not in ENDED else known._replace(torn=torn, torn_by=by)


def _is_older(batch: Batch, transaction: Row) -> bool:
    """Whether a batch cannot be of a transaction: its epoch had ended by then, or its time is before the start.

    The time is the producer's, so that it has to be well before.
    """
    epoch, began = transaction["producer_epoch"], epoch_ms(transaction["start_timestamp"])
    is_dated = batch.max_timestamp >= EARLIEST_MS
    return (epoch is not None and batch.producer_epoch < epoch) or (
        is_dated and batch.max_timestamp + CLOCK_SKEW_MS < began
    )


def _with_open(known: Known, found: Sequence[Row], batch: Batch) -> Known:
    own = next((row for row in found if row["producer_id"] == batch.producer_id and batch.is_transactional), None)
    if not found:
        return known
    return known._replace(open_transaction=own, stops_at=found[0]["start_offset"], as_of=found[0]["as_of"])
