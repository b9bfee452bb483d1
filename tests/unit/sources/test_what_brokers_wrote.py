"""What Kafka is said to do (docs/semantics.md), seen in the logs that real brokers left in data/samples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from txnlog.dump.dump_file import FileKind
from txnlog.dump.inventory import inventory
from txnlog.dump.local import LocalSegment
from txnlog.sources.coordinator_states import coordinator_states
from txnlog.sources.segments import Level, segment_batches

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
Row = dict[str, Any]


@dataclass(frozen=True)
class Written:
    """Rows of all samples: transactional batches, and the readable records of coordinators."""

    batches: list[Row]
    states: list[Row]

    def markers(self) -> Iterator[Row]:
        return (row for row in self.batches if row["marker_type"])

    def data(self) -> Iterator[Row]:
        return (row for row in self.batches if not row["is_control"])


@pytest.fixture(scope="module")
def written() -> Written:
    found = Written([], [])
    for file in inventory(SAMPLES).files:
        if file.kind is not FileKind.SEGMENT or file.skipped:
            continue
        with LocalSegment(file.path) as opened:
            for rows in segment_batches(file, opened, Level.TRANSACTIONAL):
                found.batches.extend(rows.to_pylist())
            if file.topic == "__transaction_state":
                for rows in coordinator_states(file, opened):
                    found.states.extend(row for row in rows.to_pylist() if row["state"])
    return found


def producer(row: Row) -> tuple[str, int, int]:
    return row["cluster"], row["producer_id"], row["producer_epoch"]


def test_7_a_marker_is_a_batch_of_78_bytes(written: Written) -> None:
    assert {row["size_in_bytes"] for row in written.markers()} == {78}


def test_14_consumed_offsets_are_written_without_counting(written: Written) -> None:
    """Each batch of a producer's transactional offset commits starts at sequence number 0 again."""
    sequences = [row["base_sequence"] for row in written.data() if row["topic"] == "__consumer_offsets"]
    assert len(sequences) > 20
    assert set(sequences) == {0}


def test_35_markers_carry_the_leader_epoch_of_their_prepare_record(written: Written) -> None:
    prepared: dict[tuple[str, int, int], set[int]] = {}
    for row in written.states:
        if row["state"].startswith("Prepare"):
            prepared.setdefault(producer(row), set()).add(row["coordinator_epoch"])
    # One sample lacks coordinator partitions on purpose.
    known = [row for row in written.markers() if producer(row) in prepared]
    assert len(known) > 200
    assert [row for row in known if row["coordinator_epoch"] not in prepared[producer(row)]] == []


def of_each_id(states: list[Row]) -> Iterator[list[Row]]:
    ids: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(states, key=lambda row: int(row["offset"])):
        ids.setdefault((row["cluster"], row["transactional_id"]), []).append(row)
    yield from ids.values()


def test_71_a_complete_record_is_older_than_its_markers_its_batch_is_not(
    written: Written,
) -> None:
    times: dict[tuple[str, int, int], list[int]] = {}
    for row in written.markers():
        times.setdefault(producer(row), []).append(row["max_timestamp"])
    later_than_said = 0
    for history in of_each_id(written.states):
        for prepare, complete in pairwise(history):
            if prepare["state"].startswith("Prepare") and complete["state"].startswith("Complete"):
                ends = [time for time in times.get(producer(prepare), []) if time >= prepare["last_update_timestamp"]]
                own = [time for time in ends if time <= complete["append_timestamp"]]
                later_than_said += any(time > complete["last_update_timestamp"] for time in own)
                assert complete["last_update_timestamp"] <= complete["append_timestamp"]
    assert later_than_said > 10


def test_72_a_transaction_of_version_2_may_start_after_its_first_batch(written: Written) -> None:
    """Such a transaction has an epoch of its own, so that its batches are told by it."""
    starts = {
        (*producer(row), each["topic"], each["partition"]): row["start_timestamp"]
        for row in written.states
        if row["state"] == "Ongoing" and row["client_transaction_version"] == 2
        for each in row["topic_partitions"]
    }
    written_at = {(*producer(row), row["topic"], row["partition"]): row["base_timestamp"] for row in written.data()}
    both = starts.keys() & written_at.keys()
    assert any(written_at[place] < starts[place] for place in both)
    assert any(written_at[place] >= starts[place] for place in both)


def test_73_the_producer_id_before_is_the_same_without_a_switch(written: Written) -> None:
    pairs = {(row["previous_producer_id"], row["producer_id"]) for row in written.states}
    assert {before for before, now in pairs if before != now} == {None}
    assert any(before == now for before, now in pairs)


LEADERLESS = "lost-(commit|abort).leaderless-tv[12]"


def test_58_kafka_4_completes_without_a_partition_that_has_no_leader(written: Written) -> None:
    """Each topic has one transaction; a recipe ended it while the only replica's broker was down."""
    listing = {
        each["topic"]: producer(row)[:2]
        for row in written.states
        if row["state"].startswith("Prepare")
        for each in row["topic_partitions"]
        if re.fullmatch(LEADERLESS, each["topic"])
    }
    last = {(row["cluster"], row["producer_id"]): row["state"] for each in of_each_id(written.states) for row in each}
    outcomes = {topic: last[whose] for topic, whose in listing.items()}
    assert outcomes == {
        f"lost-{outcome.lower()}.leaderless-tv{version}": f"Complete{outcome}"
        for outcome in ("Commit", "Abort")
        for version in (1, 2)
    }
    assert [row for row in written.markers() if row["topic"] in outcomes] == []
    assert {row["topic"] for row in written.data()} >= set(outcomes)


@pytest.mark.parametrize("sample", ["kafka-3.5.2", "kafka-4.3.0", "shop"])
def test_51_find_hanging_offered_committed_data(sample: str) -> None:
    """What it printed of the living cluster, and what the recipe knows to be committed."""
    lines = (SAMPLES / sample / "find-hanging.txt").read_text("utf-8").splitlines()
    offered = {
        (fields[0].strip(), int(fields[2]))
        for line in lines
        if len(fields := line.split("\t")) > 3 and fields[2].strip().isdecimal()
    }
    truth = json.loads((SAMPLES / sample / "truth.json").read_text("utf-8"))
    committed = {
        (each["topic"], each["producer_id"])
        for each in truth["open_transactions"]
        if each["cause"] == "MARKER_LOST_COMMIT"
    }
    assert committed
    assert committed <= offered
