"""What `txnlog record` prints: text for people, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from txnlog.report.abort_candidates import option, word
from txnlog.report.fitted import ACTION_STYLES
from txnlog.report.output import counted, plain
from txnlog.report.paragraphs import INDENT, Paragraph, text_of
from txnlog.report.record_answer import Known, RecordAnswer, Row
from txnlog.sources.outcome import Outcome, RecordOutcome
from txnlog.sources.record_search import Batch
from txnlog.times import EARLIEST_MS, LATEST_MS, iso_8601

MEANINGS = {
    Outcome.COMMITTED: "a COMMIT marker ends it: read_committed consumers get it, once they get so far",
    Outcome.ABORTED: "an ABORT marker ends it: read_committed consumers skip it",
    Outcome.OPEN: "no marker ends its transaction: read_committed consumers do not get it, nor anything after it",
    Outcome.NOT_TRANSACTIONAL: "it is of no transaction: read_committed consumers get it, once they get so far",
    Outcome.CONTROL_RECORD: "it is a control record, which no consumer gets",
    Outcome.CLEANED: "the log cleaner removed it, at least in one copy",
    Outcome.BEFORE_START: "it is from before the start of the log, or of the copy",
    Outcome.BEYOND_END: "it is not in the copy yet",
    Outcome.UNKNOWN: "the dump does not tell",
    Outcome.CONTRADICTED: "copies contradict each other: their logs diverged",
}
OLDER = (
    "the record is older than that transaction, by its producer's epoch or clock: it is of an earlier one that has no"
    " marker here, or it was written after the end of its own, and shares the outcome of this one"
)
TORN = "the marker here says otherwise, and partitions of the transaction ended differently (TORN_OUTCOME)"


def rendered(found: RecordAnswer, form: str, width: int | None = None, tables: str = "") -> str:
    """The answer as `table` (text, wrapped to the `width` of a terminal) or `json`."""
    if form == "json":
        return json.dumps(_as_json(found), indent=2) + "\n"
    return text_of(_paragraphs(found, tables), width)


def _as_json(found: RecordAnswer) -> Row:
    known = found.known or Known()
    return {
        "cluster": found.cluster,
        "topic": found.place.topic,
        "partition": found.place.partition,
        "offset": found.offset,
        "outcome": found.outcome,
        **{name: plain(value) for name, value in known._asdict().items()},
        "copies": [
            copy._asdict() | {name: _batch_as_json(getattr(copy, name)) for name in ("batch", "ended_by")}
            for copy in found.copies
        ],
    }


def _batch_as_json(batch: Batch | None) -> Row | None:
    return None if batch is None else batch._asdict() | {"max_timestamp": _moment(batch)}


def _paragraphs(found: RecordAnswer, tables: str) -> Iterator[Paragraph]:
    title = f"{found.place} in cluster {found.cluster}, offset {found.offset}: {found.outcome}"
    yield Paragraph(title, 0, "bold")
    yield Paragraph(MEANINGS[found.outcome])
    if found.known is not None:
        yield from _where_consumers_stop(found, found.known, tables)
    if found.outcome is not Outcome.CONTRADICTED:
        yield from _of_batch(found, found.deciding, tables)
    yield Paragraph("Copies", 0, "bold")
    for each in found.copies:
        kind = ", kafka-dump-log.sh output" if each.is_text else ""
        yield Paragraph(f"{each.log_dir or 'this folder'}{kind}: {each.outcome}: {each.reason}")
        if found.outcome is Outcome.CONTRADICTED and each.batch is not None:
            yield from _batch(each.batch)


def _of_batch(found: RecordAnswer, copy: RecordOutcome, tables: str) -> Iterator[Paragraph]:
    if copy.batch is not None:
        yield Paragraph("Its batch", 0, "bold")
        yield from _batch(copy.batch)
    if copy.ended_by is not None:
        yield Paragraph("What ended its transaction", 0, "bold")
        yield from _marker(copy.ended_by)
    if copy.batch is not None and copy.batch.producer_id >= 0:
        yield Paragraph("Its producer", 0, "bold")
        yield from _whose(found, copy.batch, tables)


def _batch(batch: Batch) -> Iterator[Paragraph]:
    of = f", producer id {batch.producer_id}, epoch {batch.producer_epoch}" if batch.producer_id >= 0 else ""
    records = "" if batch.records < 0 else f", {counted(batch.records, 'record')}"
    yield Paragraph(f"offsets {batch.base_offset} to {batch.last_offset}{records}{of}, {_time(batch)}")
    yield Paragraph(f"{batch.file}, byte {batch.position}", 2 * INDENT, "dim")


def _marker(marker: Batch) -> Iterator[Paragraph]:
    epochs = f"producer epoch {marker.producer_epoch}, coordinator epoch {marker.coordinator_epoch}"
    yield Paragraph(f"{marker.marker or 'control batch'} at offset {marker.base_offset}, {epochs}, {_time(marker)}")
    yield Paragraph(f"{marker.file}, byte {marker.position}", 2 * INDENT, "dim")


def _time(batch: Batch) -> str:
    time = _moment(batch)
    return f"{time} ({'broker' if batch.is_control else 'producer'}'s clock)" if time else "without a time"


def _moment(batch: Batch) -> str | None:
    return iso_8601(batch.max_timestamp) if EARLIEST_MS <= batch.max_timestamp <= LATEST_MS else None


def _whose(found: RecordAnswer, batch: Batch, tables: str) -> Iterator[Paragraph]:
    known = found.known
    if known is None:
        yield Paragraph("add --tables, with the tables of txnlog detect, for the transactional id")
        return
    if not known.transactional_ids:
        idle = "" if batch.is_transactional or batch.is_control else ": its producer has none"
        yield Paragraph(f"no transactional id is known for producer id {batch.producer_id}{idle}")
        return
    yield Paragraph(f"transactional id {', '.join(known.transactional_ids)}")
    if known.transaction is not None:
        yield Paragraph(_transaction(known.transaction, str(known.matched_by), known.is_older))
        if known.is_older:
            yield Paragraph(OLDER, style="yellow")
    elif known.torn is not None:
        yield Paragraph(_transaction(known.torn, str(known.torn_by)))
        decided = f"its coordinator decided {known.torn['outcome']}: {TORN}"
        yield Paragraph(decided, style="yellow")
    elif found.deciding.ended_by is not None and len(known.transactional_ids) == 1:
        name = " ".join(map(word, option("--transactional-id", known.transactional_ids[0])))
        yield Paragraph("which of its transactions it was, the records that are kept do not tell; they have:")
        yield Paragraph(f"txnlog transactions --tables {word(tables)} {name}", 2 * INDENT, is_command=True)


def _transaction(row: Row, matched_by: str, is_older: bool = False) -> str:
    times = {"began": row["start_timestamp"], "decided": row["decided_at"], "completed": row["completed_at"]}
    moments = ", ".join(f"{what} {plain(time)}" for what, time in times.items() if time is not None)
    by = "the marker's epoch, which no other one has" if matched_by == "EPOCH" else "the marker's time, if clocks agree"
    ended = "" if row["ended_by"] is None else f", ended by {row['ended_by']}"
    which = "the transaction of that marker" if is_older else "its transaction"
    return f"{which}: {moments} (coordinator's clock){ended}; found by {by}"


def _where_consumers_stop(found: RecordAnswer, known: Known, tables: str) -> Iterator[Paragraph]:
    row = known.open_transaction
    if known.as_of is None:
        return
    said = f"by the dump of {plain(known.as_of)} they stop at offset {known.stops_at}, where a transaction is open"
    verdict = f"; of its own transaction: {row['cause']}, {row['action']}" if row is not None else ""
    yield Paragraph(said + verdict, INDENT, ACTION_STYLES.get(row["action"], "") if row is not None else "")
    topic = " ".join(map(word, option("--topic", found.place.topic)))
    command = f"txnlog explain --tables {word(tables)} {topic} --partition {found.place.partition}"
    yield Paragraph(command, 2 * INDENT, is_command=True)
