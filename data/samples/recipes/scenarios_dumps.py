"""Cases of which the point is how they were dumped: after a clean shutdown, or at different times."""

import time

from connection import ProtocolError
from lab import Lab, RawProducer, wait_until

MISSING_ID = "coverage-gap-id"
# The one of five that coordinates MISSING_ID.
MISSING_PARTITION = "__transaction_state-4"
COMPLETED_AFTER_COPY = "completed-after-copy"
TRANSACTIONAL_ID_NOT_FOUND = 105
# Kafka 4 has no segments below 1 MB, but rolls them by time: each batch that comes later than this opens one.
SMALL_SEGMENTS = {"segment.ms": "100", "file.delete.delay.ms": "100"}
EXPIRY = {
    "transactional.id.expiration.ms": "3000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
}


def _roll() -> None:
    time.sleep(0.2)


# ---- after a clean shutdown


def expired(lab: Lab) -> None:
    """The coordinator forgets an id while the partition keeps its open transaction."""
    topic = lab.topic("expired", [1])
    cluster, raw = lab.cluster, lab.producer("expired-id", bumps=1)
    raw.begin(topic, 0, "remembered")
    raw.end(commit=True)
    first = raw.write(topic, 0, "late, and soon forgotten")
    # Not before: a machine that is busy takes longer to restart a broker than an id lives then.
    cluster.reconfigure(1, EXPIRY)
    wait_until(lambda: _forgotten(raw), "the id's expiry")
    cluster.reconfigure(1, {})
    story = "A late write of an id that the coordinator then removed as idle, with a tombstone."
    lab.note_open(raw, first, "ID_EXPIRED", "ABORT", story)


def _forgotten(raw: RawProducer) -> bool:
    try:
        raw.client.transaction(raw.transactional_id)
    except ProtocolError as error:
        return error.code == TRANSACTIONAL_ID_NOT_FOUND
    return False


def spanning(lab: Lab) -> None:
    """Transactions of which each batch lies in a segment of its own."""
    topic = lab.topic("spanning", [1], [1], settings=SMALL_SEGMENTS)
    finished, stuck = (
        lab.producer("spanning-finished", bumps=1),
        lab.producer("spanning-open", first_sequence=9),
    )
    finished.begin(topic, 0, "in the first segment")
    opened = stuck.write(topic, 1, "in the first segment")
    for number in range(2, 5):
        _roll()
        finished.write(topic, 0, f"in segment {number}")
        last = stuck.write(topic, 1, f"in segment {number}")
    _roll()
    finished.end(commit=True)
    lab.note_closed(topic, 0, "One transaction over four segments, its marker in the fifth.")
    story = "Four batches in four segments, in a partition that was never added."
    lab.note_open(stuck, opened, "NEVER_ADDED", "ABORT", story, last=last)


def phantom(lab: Lab) -> None:
    """DeleteRecords removes the start of an open transaction: only the producer snapshot remembers it."""
    topic = lab.topic("phantom", [1], settings=SMALL_SEGMENTS)
    kept = lab.topic("phantom.segment-kept", [1])
    for name, how in (
        (topic, "its segment is gone"),
        (kept, "its batch is still in the segment, below the log start"),
    ):
        raw, other = lab.producer(f"{name}-id", bumps=2), lab.producer(f"{name}-neighbour")
        first = raw.write(name, 0, "soon", "deleted")
        for number in range(3):
            _roll()
            other.begin(name, 0, f"after it, {number}")
            other.end(commit=True)
            lab.cluster.delete_records(name, 0, first.base_offset + 4)
        story = f"The transaction's start was removed by DeleteRecords; {how}. Its partition was never added."
        lab.note_open(raw, first, "PHANTOM_BELOW_LOG_START", "ABORT", story)


# ---- copied at different times, one __transaction_state partition missing


def coverage_gap(lab: Lab) -> None:
    """Producer ids that only the missing __transaction_state partition could know, or none."""
    topic = lab.topic("coverage-gap", [2], [2])
    raw = lab.producer(MISSING_ID, bumps=1)
    raw.begin(topic, 0, "in time")
    raw.end(commit=True)
    first = raw.write(topic, 0, "late")
    story = "A late write of an id whose __transaction_state partition is not in the dump."
    lab.note_open(raw, first, "COVERAGE_GAP", "UNDETERMINED", story, nameless=True)
    producer = lab.cluster.client.init_producer_id(None, 0)
    raw = RawProducer(lab.cluster.client, "in-no-coordinator", producer=producer, first_sequence=31)
    story = "A producer id of no transactional id; the missing __transaction_state partition could have known it."
    first = raw.write(topic, 1, "nobody's, but who can tell?")
    lab.note_open(raw, first, "COVERAGE_GAP", "UNDETERMINED", story, nameless=True)


def begun_before(lab: Lab) -> None:
    """The id of `begun_after`, seen by the coordinator's copy in a finished transaction."""
    topic = lab.topic("before-the-copy", [2])
    raw = lab.producer("begun-after-known", bumps=2)
    raw.begin(topic, 0, "finished in time")
    raw.end(commit=True)
    lab.note_closed(topic, 0, "A commit before either copy.")


def begun_after(lab: Lab) -> None:
    """Transactions that the coordinator's copy cannot know: they began after it was taken."""
    topic = lab.topic("begun-after-copy", [2], [2])
    fresh = lab.producer("begun-after-new")
    story = "A new id's transaction, begun after the coordinator's copy and minutes before this partition's."
    first = fresh.begin(topic, 0, "unknown to the copy")
    # That the coordinators were copied too early is so, too; that one of them is missing is said first.
    lab.note_open(fresh, first, "COVERAGE_GAP", "UNDETERMINED", story, nameless=True)
    known = lab.producer("begun-after-known")
    story = "As partition 0, by an id of which the coordinator's copy shows an earlier, finished transaction."
    lab.note_open(known, known.begin(topic, 1, "unknown as well"), "SKEW", "UNDETERMINED", story)


def completing(lab: Lab) -> RawProducer:
    """A transaction to be open while its partition is copied, and complete when the coordinator is."""
    topic = lab.topic(COMPLETED_AFTER_COPY, [3])
    raw = lab.producer("completed-after-id")
    story = "Committed after this partition was copied and before the coordinator was: complete there, open here."
    lab.note_open(raw, raw.begin(topic, 0, "open in the copy"), "SKEW", "UNDETERMINED", story)
    return raw
