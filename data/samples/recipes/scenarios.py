"""One function per case: what is done to the cluster, and what is therefore true about the partition."""

import time
from collections.abc import Sequence

from clock import now_ms
from lab import Lab, RawProducer, Written, wait_until

HOUR_MS = 3_600_000
# A transaction, its first batch, and whether it is to be committed.
Begun = tuple[RawProducer, Written, bool]


# ---- late, and no coordinator will ever write the marker


def late_write(lab: Lab) -> None:
    """A batch of a finished transaction reaches the partition after its marker."""
    topic = lab.topic("late-write", [1], [2])
    for partition, commit in enumerate((True, False)):
        raw = lab.producer(f"late-write-{partition}", bumps=3 * partition, first_sequence=5)
        raw.begin(topic, partition, "in time", "in time as well")
        raw.end(commit)
        first = raw.write(topic, partition, "late", "late too")
        last = raw.write(topic, partition, "late again")
        done = "committed" if commit else "aborted"
        story = f"The transaction was {done}; two batches of the same epoch arrived after its marker."
        lab.note_open(raw, first, "LATE_WRITE_AFTER_END", "ABORT", story, last=last)


def never_added(lab: Lab) -> None:
    """Transactional data on a partition that no transaction of the id ever listed."""
    topic = lab.topic("never-added", [1], [2])
    elsewhere = lab.topic("added", [1])
    idle = lab.producer("never-added-idle")
    story = "The id was initialised and never began a transaction; data was written without adding the partition."
    lab.note_open(idle, idle.write(topic, 0, "nobody's"), "NEVER_ADDED", "ABORT", story)
    busy = lab.producer("never-added-busy", bumps=1)
    for commit in (True, False):
        busy.begin(elsewhere, 0, "with the coordinator's knowledge")
        busy.end(commit)
    story = "The id completed two transactions on another partition; this one was never added to any."
    lab.note_open(busy, busy.write(topic, 1, "nobody's", "either"), "NEVER_ADDED", "ABORT", story)
    lab.note_closed(elsewhere, 0, "The other transactions of the id that wrote to never-added-1.")


def zombie(lab: Lab) -> None:
    """The id's epoch was bumped between transactions; its former self goes on writing at the old epoch."""
    topic = lab.topic("zombie", [2])
    elsewhere = lab.topic("living", [1])
    raw = lab.producer("zombie-id", bumps=4)
    raw.begin(elsewhere, 0, "before")
    raw.end(commit=True)
    former = raw.as_of_epoch(raw.producer)
    raw.initialise(times=2)
    raw.begin(elsewhere, 0, "after")
    raw.end(commit=True)
    first = former.write(topic, 0, "written by the former self")
    story = "The epoch was bumped while the id was complete; then data of the old epoch was written here."
    lab.note_open(former, first, "EPOCH_MISMATCH", "ABORT", story)
    lab.note_closed(elsewhere, 0, "The transactions of zombie-id that the coordinator knows, at two epochs.")


def unknown_producer(lab: Lab) -> None:
    """A producer id that was never given to a transactional id.

    No coordinator knows it, and some of their logs begin later: as after the loss of a disk.
    """
    topic = lab.topic("unknown-producer", [1])
    producer = lab.cluster.client.init_producer_id(None, 0)
    raw = RawProducer(lab.cluster.client, "in-no-coordinator", producer=producer, first_sequence=23)
    story = "The producer id was given out without a transactional id; a transactional batch was written with it."
    lab.note_open(raw, raw.write(topic, 0, "whose?"), "HISTORY_COMPACTED", "UNDETERMINED", story, nameless=True)


def crowded(lab: Lab) -> None:
    """Two open transactions and a finished one between each other in one partition."""
    topic = lab.topic("crowded", [2])
    first, second, third = (lab.producer(f"crowded-{name}") for name in ("late", "finished", "never"))
    first.begin(topic, 0, "one")
    first.end(commit=True)
    late = first.write(topic, 0, "one, late")
    second.begin(topic, 0, "two")
    never = third.write(topic, 0, "three")
    second.end(commit=True)
    story = "The first of two open transactions here, a batch after its marker: it holds the last stable offset."
    lab.note_open(first, late, "LATE_WRITE_AFTER_END", "ABORT", story)
    story = "The second of two open transactions here, after the first; its partition was never added."
    lab.note_open(third, never, "NEVER_ADDED", "ABORT", story)


def late_offset_commit(lab: Lab) -> None:
    """Consumed offsets of a finished transaction reach __consumer_offsets after its marker."""
    client, group = lab.cluster.client, "late-reader"
    raw = lab.producer("late-offsets")
    client.add_offsets(raw.transactional_id, raw.producer, group)
    client.commit_offset(raw.transactional_id, raw.producer, group, topic="orders", partition=0, offset=5)
    raw.end(commit=True)
    client.commit_offset(raw.transactional_id, raw.producer, group, topic="orders", partition=0, offset=9)
    story = "TxnOffsetCommit of the transaction's producer epoch arrived after its COMMIT marker."
    for partition in client.leaders("__consumer_offsets"):
        for one in lab.open_now("__consumer_offsets", partition):
            if one.producer_id == raw.producer.producer_id:
                first = Written("__consumer_offsets", partition, raw.producer, one.start_offset, now_ms())
                lab.note_open(raw, first, "LATE_WRITE_AFTER_END", "ABORT", story)


def event_time_old(lab: Lab) -> None:
    """Data with event time, old by the brokers' clock too: markers stand before and after it."""
    topic = lab.topic("event-time.customers_v1", [1])
    other, raw = lab.producer("event-time-neighbour"), lab.producer("event-time-old")
    other.begin(topic, 0, "before")
    other.end(commit=True)
    hours_ago = now_ms() - 7 * HOUR_MS
    first = raw.write(topic, 0, "an event of", "this morning", timestamps=[hours_ago, hours_ago + 90_000])
    other.begin(topic, 0, "after")
    other.end(commit=True)
    story = "Stamped seven hours before it was appended, between two markers that are late too; never added."
    lab.note_open(raw, first, "NEVER_ADDED", "ABORT", story)


def lost_markers(lab: Lab) -> None:
    """A COMMIT and an ABORT marker that an unclean leader election truncates."""
    raws = list[Begun]()
    for topic, commit in (("lost-commit", True), ("lost-abort", False)):
        lab.topic(topic, [2, 3])
        raw = lab.producer(f"{topic}-id", bumps=1)
        raws.append((raw, raw.begin(topic, 0, f"{topic} data", "and more"), commit))
    lose_markers(lab, raws)


def lose_markers(lab: Lab, raws: Sequence[Begun]) -> None:
    """End transactions so that the only replica with the marker loses its leadership to one without it, and truncates.

    The data is on nodes 2 and 3; node 3 misses the marker, node 2 goes away, node 3 is elected uncleanly.
    """
    cluster = lab.cluster

    def are_in_sync() -> bool:
        return all(cluster.in_sync(one.topic, one.partition) == {2, 3} for _, one, _ in raws)

    wait_until(are_in_sync, "replicas in sync")
    cluster.stop(3)
    for raw, _, commit in raws:
        raw.end(commit)
    cluster.stop(2)
    cluster.start(3)
    for _, first, _ in raws:
        cluster.elect_uncleanly(first.topic, first.partition)
    cluster.start(2)
    wait_until(are_in_sync, "replicas in sync")
    for raw, first, commit in raws:
        note_lost(
            lab,
            raw,
            first,
            commit,
            "the replica with the marker lost an unclean leader election and truncated it",
        )


def note_lost(lab: Lab, raw: RawProducer, first: Written, commit: bool, how: str) -> None:
    """Note an open transaction that the coordinator has finished."""
    outcome, action = ("COMMIT", "KEEP") if commit else ("ABORT", "ABORT")
    story = f"The coordinator says {outcome} and complete; {how}."
    lab.note_open(raw, first, f"MARKER_LOST_{outcome}", action, story)


# ---- late, and a coordinator's


def stuck_ongoing(lab: Lab) -> None:
    """A transaction past its timeout that the coordinator does not end."""
    topic = lab.topic("stuck-ongoing", [1], [2])
    raw = lab.producer("stuck-ongoing-id", bumps=2, first_sequence=42)
    story = "Begun and left alone; the coordinator looks for transactions past their timeout once an hour."
    for partition in (0, 1):
        first = raw.begin(topic, partition, f"waiting on {partition}")
        last = raw.write(topic, partition, f"still waiting on {partition}")
        lab.note_open(raw, first, "STUCK_ONGOING", "FENCE", story, last=last)


def stuck_prepare(lab: Lab) -> None:
    """The coordinator cannot write the marker: too few replicas are in sync for it.

    Ends with node 3 stopped, so its copies of replicated partitions lag behind from here on.
    """
    cluster = lab.cluster
    lagging = lab.topic("lagging", [2, 3])
    waiting = lab.topic("stuck-prepare", [2, 3], settings={"min.insync.replicas": "2"})
    finished, stuck = lab.producer("lagging-id"), lab.producer("stuck-prepare-id", bumps=1)
    finished.begin(lagging, 0, "its marker is on the leader only")
    first = stuck.begin(waiting, 0, "prepared")
    wait_until(lambda: all(cluster.in_sync(one, 0) == {2, 3} for one in (lagging, waiting)), "replicas in sync")
    cluster.stop(3)
    finished.end(commit=True)
    lab.note_closed(lagging, 0, "The leader's copy has the COMMIT marker, the copy of broker 3 ends before it.")
    # Before it knows, the leader takes the marker and waits for the replica in vain.
    wait_until(lambda: cluster.in_sync(waiting, 0, seen_by=2) == {2}, "the leader to be alone")
    stuck.send_end(commit=True)
    story = "PrepareCommit; the leader refuses the marker: one replica in sync, min.insync.replicas 2."
    lab.note_open(stuck, first, "STUCK_PREPARE", "MOVE_COORDINATOR", story)


# ---- young


def ongoing(lab: Lab) -> None:
    """A transaction in time."""
    topic = lab.topic("ongoing", [1], [2])
    raw = lab.producer("ongoing-id", first_sequence=3)
    for partition in (0, 1):
        story = "Begun seconds before the dump, the coordinator lists the partition."
        lab.note_open(raw, raw.begin(topic, partition, "in time"), "ONGOING", "WAIT", story)


def too_young(lab: Lab) -> None:
    """Never added, but only seconds old."""
    topic = lab.topic("too-young", [2])
    raw = lab.producer("too-young-id")
    story = "Written seconds before the dump, to a partition that was not added to a transaction."
    lab.note_open(raw, raw.write(topic, 0, "give it time"), "TOO_YOUNG", "WAIT", story)


def event_time_young(lab: Lab) -> None:
    """Never added and seconds old, stamped with event time, with no time at all, and ahead of time."""
    topic = lab.topic("event-time.orders_v1", [1], [2], [1])
    stamps = (now_ms() - 6 * HOUR_MS, -1, now_ms() + HOUR_MS // 3)
    words = ("hours before it was appended", "-1, which means no timestamp", "twenty minutes in the future")
    for partition, (stamp, said) in enumerate(zip(stamps, words, strict=True)):
        other, raw = lab.producer(f"event-neighbour-{partition}"), lab.producer(f"event-time-{partition}")
        other.begin(topic, partition, "with a marker just before")
        other.end(commit=True)
        first = raw.write(topic, partition, "when?", timestamps=[stamp])
        story = f"Stamped {said}; a marker stands before it that is seconds old, so it is young."
        lab.note_open(raw, first, "TOO_YOUNG", "WAIT", story)


def pending(lab: Lab, transaction_version: int = 1) -> None:
    """PrepareCommit seconds before the dump, to a broker that does not answer. Ends with node 2 paused."""
    topic = lab.topic("pending", [2])
    raw = lab.producer("pending-id", transaction_version=transaction_version)
    first = raw.begin(topic, 0, "prepared a moment ago")
    time.sleep(3)  # until node 2 has checkpointed its high watermarks
    lab.cluster.pause(2)
    raw.send_end(commit=True)
    story = "PrepareCommit seconds before the dump; the partition's broker does not answer."
    lab.note_open(raw, first, "PENDING", "WAIT", story)
