"""One worked example for each cause, and docs/examples.md of what the detection says of them.

`python -m tests.worked_examples` writes the page; `tests/unit/detection/test_examples.py` holds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.detection_cases import Case, Found, detected
from tests.quick_spark import QUICK
from txnlog.detection.causes import Action, Cause
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.spark.session import session

PAGE = Path(__file__).parents[1] / "docs/examples.md"
LISTED = "empty@50 ongoing@99[orders-0]"


class Example(NamedTuple):
    """A case, the cause that it is an example of, and how one comes from the logs to the verdict."""

    cause: Cause
    case: Case
    proof: str


def example(cause: Cause, proof: str, orders: str, coordinator: str | None = "", **more: Any) -> Example:
    """An example whose case has the cause's name, as each case needs one of its own."""
    return Example(cause, Case(f"example: {cause}", orders, coordinator, **more), proof)


EXAMPLES = (
    example(
        Cause.LATE_WRITE_AFTER_END,
        "Offset 0 was written, and the coordinator aborted it: its marker is at offset 1. Offset 2 has the same"
        " producer id and epoch and came a minute later. The coordinator has no transaction left to end.",
        "data(0)@100 abort(1)@101 data(2)@102",
        f"{LISTED} prepare_abort@101 complete@101",
    ),
    example(
        Cause.NEVER_ADDED,
        "The coordinator's log is complete from offset 0, and no record of the id lists orders-0.",
        "data(0)@100",
        "empty@50 ongoing@99[payments-0] prepare_commit@101 complete@102",
    ),
    example(
        Cause.EPOCH_MISMATCH,
        "A newer instance of the producer took the id over at minute 200, with epoch 1. The data has epoch 0.",
        "data(0)@100",
        "empty@50 empty(epoch=1)@200",
    ),
    example(
        Cause.COORDINATOR_UNKNOWN,
        "All partitions of `__transaction_state` are in the dump (here there is one), and complete to their ends. The"
        " only id in them has producer id 8. A record of minute 50 shows that the topic was there before a marker of"
        " minute 60, which comes before the data.",
        "abort(0, of=9)@60 data(1)@100",
        "id(shop, of=8) empty@50",
    ),
    example(
        Cause.ID_EXPIRED,
        "The id was idle, and its last record is a tombstone.",
        "data(0)@100",
        "empty@50 tombstone@900",
    ),
    example(
        Cause.MARKER_LOST_ABORT,
        "The coordinator decided to abort at minute 101 and wrote CompleteAbort. No marker follows the data.",
        "data(0)@100",
        f"{LISTED} prepare_abort@101 complete@101",
    ),
    example(
        Cause.PHANTOM_BELOW_LOG_START,
        "The log starts at offset 10. Only the producer snapshot shows that producer 7 has a transaction open from"
        " offset 4.",
        "segment(10) log_start(10) snapshot(10, open=4)@100 plain(10)@300",
        "empty@50",
    ),
    example(
        Cause.MARKER_LOST_COMMIT,
        "As with `MARKER_LOST_ABORT`, but the decision was to commit, and the application was told so.",
        "data(0)@100",
        f"{LISTED} prepare_commit@101 complete@101",
    ),
    example(
        Cause.STUCK_ONGOING,
        "The coordinator has had the transaction Ongoing for 901 minutes. Its timeout is one minute.",
        "data(0)@100",
        LISTED,
    ),
    example(
        Cause.STUCK_PREPARE,
        "The coordinator decided at minute 101 and has been writing markers since. The marker for orders-0 is missing.",
        "data(0)@100",
        f"{LISTED} prepare_commit@101",
    ),
    example(
        Cause.ONGOING,
        "Five minutes old, and the coordinator lists the partition.",
        "data(0)@995",
        "empty@50 ongoing@994[orders-0]",
    ),
    example(
        Cause.PENDING,
        "Five minutes old, and the coordinator began to write the markers four minutes before the copy.",
        "data(0)@995",
        "empty@50 ongoing@994[orders-0] prepare_commit@996",
    ),
    example(
        Cause.TOO_YOUNG,
        "As with `NEVER_ADDED`, but five minutes old. The coordinator may still add the partition or end the"
        " transaction.",
        "data(0)@995",
        "empty@50",
    ),
    example(
        Cause.TWO_PHASE_COMMIT,
        "The id has the timeout of a two-phase commit. However old it is, an external coordinator decides.",
        "data(0)@100",
        "id(app, timeout=none) empty@50 ongoing@99[orders-0]",
    ),
    example(
        Cause.CLEANER_ARTEFACT,
        "The batch at offset 0 has lost all of its records. Replay still opens a transaction; the running broker"
        " may have none.",
        "data(0, records=0)@100 plain(1)@101",
        "empty@50",
    ),
    example(
        Cause.SKEW,
        "Broker 2, which has the coordinator, was copied at minute 200; the data was written at minute 300. What the"
        " coordinator did in between is not in the dump.",
        "data(0)@300",
        None,
        logs={f"{TRANSACTION_STATE}-0@2": "empty@50"},
        copied={"2": (200.0, 210.0)},
    ),
    example(
        Cause.COVERAGE_GAP,
        "As with `COORDINATOR_UNKNOWN`, but `__transaction_state` has two partitions, and the dump has one of them.",
        "data(0)@100",
        "id(shop, of=8) empty@50",
        coordinators=2,
    ),
    example(
        Cause.HISTORY_COMPACTED,
        "The first remaining record of the coordinator's log was written at minute 500. The records of minute 100 are"
        " gone: they may have been those of a commit whose marker was lost.",
        "data(0)@100",
        "skip(50) empty(epoch=2)@500 cleaned_to(50)",
    ),
    example(
        Cause.NOT_PRINTED,
        "The log is `kafka-dump-log` output that was printed without `--deep-iteration`. It shows a marker at offset"
        " 1, but not its type.",
        "text data(0)@100 unprinted(1)@101 data(2)@102",
        "empty@50",
    ),
    example(
        Cause.AMBIGUOUS_PRODUCER_ID,
        "Two ids claim producer id 7.",
        "data(0)@100",
        "id(app) empty@50 id(shop) empty@60",
    ),
    example(
        Cause.CORRUPT_INPUT,
        "The segment is damaged from a byte after offset 0 to its end. The marker may have been there.",
        "data(0)@100 damage(end)",
        "empty@50",
    ),
)

HEADER = """\
[All pages](index.md)

<!-- Made by python -m tests.worked_examples: change the examples or the code and run it again. -->

# One worked example for each cause

Each example is a small dump: one partition, `orders-0`, and the coordinators' log. Producer 7 with the id `app` writes.
The tests run txnlog on all of them, and this page shows its verdicts. How a verdict is reached is in
[verdicts.md](verdicts.md).

How to read the logs: `data(0)@100 abort(1)@101` is a transactional batch at offset 0, written at minute 100, and an
ABORT marker at offset 1, written at minute 101. Minute 0 is 2026-01-01 00:00 UTC. The dump was taken from minute 1000
to 1010 (16:40 to 16:50), and a transaction is late after 20 minutes. The producer is 7 and the epoch 0 unless the log
says otherwise; `plain` is data without a transaction. `empty@50 ongoing@99[orders-0] prepare_commit@101 complete@101`
are records of the coordinator, each with its state, its minute, and the partitions that it lists. The records after
`id(app)` are those of that id. `skip(50)` is a gap that compaction left, `segment(10)` starts a segment at offset 10,
`log_start(10)` is the broker's checkpoint of the log start offset, `snapshot(10, open=4)` is a producer snapshot at
offset 10, which shows the transaction from offset 4 as open.
`text` means that the log is `kafka-dump-log` output.
"""


def page(found: Found) -> str:
    """The page as Markdown, of what the detection found in the examples."""
    return "\n".join([HEADER, *(part for action in Action for part in _of_action(found, action))])


def _of_action(found: Found, action: Action) -> Iterator[str]:
    yield f"## {action}\n"
    for each in EXAMPLES:
        if each.cause.action == action:
            yield _section(found, each)


def _section(found: Found, each: Example) -> str:
    row = found.only(each.case)
    verdict = f"**{row['cause']}**, `{row['action']}`, confidence `{row['confidence']}`: {row['reason']}."
    return f"### {each.cause}\n\n```\n{_logs(each.case)}\n```\n\n{each.proof}\n\ntxnlog says: {verdict}\n"


def _logs(case: Case) -> str:
    own = {"orders-0@1": case.orders, f"{TRANSACTION_STATE}-0@1": case.coordinator}
    logs = {place.replace("@", " on broker "): line for place, line in {**own, **case.logs}.items() if line is not None}
    width = max(map(len, logs))
    return "\n".join(f"{place:{width}}  {line or '(no records)'}" for place, line in logs.items())


if __name__ == "__main__":
    spark = session("txnlog-examples", is_small=False, **{**QUICK, "spark.sql.shuffle.partitions": 2})
    PAGE.write_text(page(detected(spark, [each.case for each in EXAMPLES])), "utf-8")
    spark.stop()
