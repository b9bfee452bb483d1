"""The rows that a dump of logs in words has, in the schemas of `txnlog.sources.rows`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.logs_in_words import MINUTE, START, Word, instant, words
from txnlog.format.batch import NOTHING_FOLLOWS

TWO_PHASE = 2**31 - 1
CHECKPOINTS = {
    "high_watermark": "replication-offset-checkpoint",
    "log_start": "log-start-offset-checkpoint",
    "cleaned_to": "cleaner-offset-checkpoint",
}
MARKERS = {"commit": "COMMIT", "abort": "ABORT"}
# A marker in a text that does not say which it is.
UNPRINTED = {"unprinted": "NOT_PRINTED"}
STATES = {
    "empty": "Empty",
    "ongoing": "Ongoing",
    "prepare_commit": "PrepareCommit",
    "prepare_abort": "PrepareAbort",
    "complete_commit": "CompleteCommit",
    "complete_abort": "CompleteAbort",
}


@dataclass
class Rows:
    """The rows of a dump, by the name of their frame."""

    batches: list[dict[str, Any]] = field(default_factory=list)
    transaction_states: list[dict[str, Any]] = field(default_factory=list)
    producer_snapshots: list[dict[str, Any]] = field(default_factory=list)
    aborted_transactions: list[dict[str, Any]] = field(default_factory=list)
    checkpoints: list[dict[str, Any]] = field(default_factory=list)
    dump_files: list[dict[str, Any]] = field(default_factory=list)
    log_dirs: list[dict[str, Any]] = field(default_factory=list)


class Log:
    """Turns the words of one copy of one partition into rows."""

    def __init__(self, rows: Rows, place: dict[str, Any], modified: Any) -> None:
        self.rows, self.place, self.modified = rows, place, modified
        self.directory = f"{place['log_dir']}/{place['topic']}-{place['partition']}"
        self.time = START
        self.next_offset = 0
        self.files: dict[str, dict[str, Any]] = {}
        self.segment: dict[str, Any] = {}
        self.checkpoints: dict[str, int] = {}
        self.is_text = False

    def write(self, line: str) -> None:
        """Add the rows of a line of words."""
        for word in words(line):
            if word.time is not None:
                self.time = instant(word.time)
            if word.name != "segment" and not self.segment:
                self.start_segment(0)
            getattr(self, f"on_{word.name}", self.on_entry)(word)
        if not self.segment:
            self.start_segment(0)
        self.checkpoints.setdefault("high_watermark", self.next_offset)
        for name, offset in self.checkpoints.items():
            if offset >= 0:
                entry = {
                    "file": f"{self.place['log_dir']}/{CHECKPOINTS[name]}",
                    "checkpoint": CHECKPOINTS[name],
                }
                self.rows.checkpoints.append(self.place | entry | {"checkpoint_offset": offset})
        self.rows.dump_files.extend(file | {"is_text": self.is_text} for file in self.files.values())

    def on_entry(self, word: Word) -> None:
        raise AssertionError(f"{word.name} is not a word of {self.place['topic']}")

    def file(self, kind: str, ending: str, offset: int, **known: Any) -> dict[str, Any]:
        name = f"{self.directory}/{offset:020}{ending}"
        sizes = dict.fromkeys(("bytes_parsed", "bytes_tail", "bytes_damaged", "bytes_skipped"), 0)
        about = {
            "file": name,
            "kind": kind,
            "size_in_bytes": 0,
            "modified": self.modified,
            "base_offset": offset,
        }
        return self.files.setdefault(name, self.place | about | sizes | known)

    def start_segment(self, offset: int) -> None:
        self.segment = self.file("segment", ".log", offset, batches=0)
        self.next_offset = max(self.next_offset, offset)

    def appended(self, first: int, last: int, size: int, leader: int, broker_time: int | None) -> int:
        """Count a batch to its segment; the byte at which it starts."""
        segment = self.segment
        position: int = segment["size_in_bytes"]
        if segment.get("first_offset") is None:
            segment["first_offset"] = first
        elif first > self.next_offset:
            segment["gap_to"] = first
        segment["last_offset"] = last
        segment["partition_leader_epoch"] = max(leader, segment.get("partition_leader_epoch", -1))
        segment["broker_timestamp"] = max((broker_time, segment.get("broker_timestamp")), key=lambda t: t or 0)
        segment["size_in_bytes"] += size
        segment["bytes_parsed"] += size
        segment["batches"] += 1
        self.next_offset = last + 1
        return position

    def on_segment(self, word: Word) -> None:
        self.start_segment(int(word.what))

    def on_hidden(self, word: Word) -> None:
        self.file("segment", ".log", int(word.what), damaged_to=NOTHING_FOLLOWS)

    def on_listed(self, _: Word) -> None:
        self.segment["complete_at"] = datetime.fromtimestamp(self.time / 1000, UTC)

    def on_modified(self, _: Word) -> None:
        latest = next(reversed(self.files.values()))
        latest["modified"] = datetime.fromtimestamp(self.time / 1000, UTC)

    def on_missing(self, word: Word) -> None:
        self.segment["bytes_missing"] = int(word.what)

    def on_metadata(self, _: Word) -> None:
        file = self.file("partition_metadata", "/partition.metadata", 0)
        file["modified"] = datetime.fromtimestamp(self.time / 1000, UTC)

    def on_topic(self, word: Word) -> None:
        self.file("partition_metadata", "/partition.metadata", 0)["topic_id"] = word.what

    def on_zeros(self, word: Word) -> None:
        self.segment["bytes_tail"] = int(word.what)

    def on_damage(self, word: Word) -> None:
        self.segment["damaged_to"] = NOTHING_FOLLOWS if word.what == "end" else int(word.what)

    def on_text(self, _: Word) -> None:
        self.is_text = True

    def on_tail(self, word: Word) -> None:
        self.segment["tail_producer_id"] = int(word.what)

    def on_epochs(self, word: Word) -> None:
        first, last = int(word.what), int(next(iter(word.given)))
        file = self.file("leader_epoch_checkpoint", "", 0, first_offset=first, last_offset=last)
        file["partition_leader_epoch"] = int(word.given["last"]) if "last" in word.given else None
        self.files[file["file"]] = file | {"base_offset": None}

    def on_high_watermark(self, word: Word) -> None:
        self.checkpoints[word.name] = int(word.what)

    on_log_start = on_cleaned_to = on_high_watermark

    def on_no_checkpoint(self, word: Word) -> None:
        self.checkpoints["high_watermark"] = -1


class PartitionLog(Log):
    """A partition that producers write to."""

    def on_entry(self, word: Word) -> None:
        assert word.name in {"data", "idempotent", "plain", "commit", "abort", "control", "unprinted"}, word.name
        first, _, last = word.what.partition("..")
        offsets = (int(first), int(last or first))
        is_control = word.name not in {"data", "idempotent", "plain"}
        is_damaged = "damaged" in word.given
        size = word.number("bytes", 78 if is_control else 100)
        by_broker = self.time if is_control or "appended" in word.given else None
        leader = word.number("leader", 1)
        position = self.appended(*offsets, size, leader, by_broker)
        if is_damaged:
            self.segment["damaged_to"] = offsets[1] + 1
        self.rows.batches.append(
            self.place
            | {
                "file": self.segment["file"],
                "position": position,
                "size_in_bytes": size,
                "base_offset": offsets[0],
                "last_offset": offsets[1],
                "partition_leader_epoch": leader,
                "magic": 2,
                "crc": word.number("crc", 0),
                "crc_valid": not is_damaged,
                "compression": "none",
                "timestamp_type": "LogAppendTime" if "appended" in word.given else "CreateTime",
                "is_transactional": word.name not in {"idempotent", "plain"} and word.given.get("type") is None,
                "is_control": is_control,
                "base_timestamp": instant(word.given["since"]) if "since" in word.given else self.time,
                "max_timestamp": self.time,
                "producer_id": -1 if word.name == "plain" else word.number("of", 7),
                "producer_epoch": -1 if word.name == "plain" else word.number("epoch", 0),
                "base_sequence": -1,
                "record_count": word.number("records", 0 if word.name == "control" else offsets[1] - offsets[0] + 1),
                "control_type": MARKERS.get(word.name, word.given.get("type")) or UNPRINTED.get(word.name),
                "marker_type": MARKERS.get(word.name),
                "coordinator_epoch": word.number("by", 0) if word.name in MARKERS else None,
            }
        )

    def on_snapshot(self, word: Word) -> None:
        offset = int(word.what)
        problem = "crc" if "damaged" in word.given else None
        file = self.file("producer_snapshot", ".snapshot", offset, problem=problem)
        if ("open" in word.given or "ended" in word.given) and problem is None:
            entry = {
                "file": file["file"],
                "position": 10,
                "snapshot_offset": offset,
                "producer_id": word.number("of", 7),
                "producer_epoch": word.number("epoch", 0),
                "last_sequence": 0,
                "last_offset": word.number("open", 0),
                "offset_delta": 0,
                "timestamp": self.time,
                "coordinator_epoch": word.number("by", 0 if "ended" in word.given else -1),
                "current_txn_first_offset": word.number("open", 0) if "open" in word.given else None,
            }
            self.rows.producer_snapshots.append(self.place | entry)

    def on_index(self, word: Word) -> None:
        file = self.file("transaction_index", ".txnindex", self.segment["base_offset"])
        entry = {"file": file["file"], "position": 0, "producer_id": word.number("of", 7)}
        offsets = {"first_offset": int(word.what), "last_offset": int(word.what) + 1, "last_stable_offset": 0}
        self.rows.aborted_transactions.append(self.place | entry | offsets)


class CoordinatorLog(Log):
    """A partition of `__transaction_state`. What a record does not say of its id stays as it was."""

    def __init__(self, rows: Rows, place: dict[str, Any], modified: Any) -> None:
        super().__init__(rows, place, modified)
        self.id = "app"
        self.now: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "timeout_ms": MINUTE}

    def on_id(self, word: Word) -> None:
        self.id = word.what
        self.now = {"producer_id": 7, "producer_epoch": 0, "timeout_ms": MINUTE}
        self.change(word)

    def on_skip(self, word: Word) -> None:
        self.next_offset, before = int(word.what), self.next_offset
        if self.segment.get("first_offset") is not None and self.next_offset > before:
            self.segment["gap_to"] = self.next_offset

    def change(self, word: Word) -> None:
        columns = {"of": "producer_id", "epoch": "producer_epoch", "version": "client_transaction_version"}
        self.now |= {columns[key]: int(value) for key, value in word.given.items() if key in columns}
        if "timeout" in word.given:
            minutes = word.given["timeout"]
            self.now["timeout_ms"] = TWO_PHASE if minutes == "none" else int(float(minutes) * MINUTE)

    def on_unreadable(self, word: Word) -> None:
        self.record(word, {"transactional_id": None, "problem": "value: cut short"})

    def on_tombstone(self, word: Word) -> None:
        self.record(word, {"transactional_id": self.id, "is_tombstone": True})

    def on_entry(self, word: Word) -> None:
        name = word.name
        if name == "complete":
            name = self.now["state"].lower().replace("prepare", "complete_")
        state = STATES[name]
        self.change(word)
        if name == "empty":
            self.now |= {"topic_partitions": None, "start_timestamp": None}
        elif name == "ongoing" and self.now.get("state") != "Ongoing":
            self.now["start_timestamp"] = self.time
        if "began" in word.given:
            self.now["start_timestamp"] = instant(word.given["began"])
        listed = [] if name.startswith("complete") else word.listed or self.now.get("topic_partitions")
        self.now |= {"state": state, "last_update_timestamp": self.time, "topic_partitions": listed}
        others = {
            "previous": "previous_producer_id",
            "next": "next_producer_id",
            "next_epoch": "next_producer_epoch",
        }
        named = {others[key]: int(value) for key, value in word.given.items() if key in others}
        # Before 4.1 a text has no start times.
        unsaid = {"start_timestamp": None} if self.is_text else {}
        self.record(word, {"transactional_id": self.id} | self.now | named | unsaid)

    def record(self, word: Word, known: dict[str, Any]) -> None:
        coordinator = word.number("coordinator", 0)
        written = instant(word.given["written"]) if "written" in word.given else self.time
        offset = self.next_offset
        row = {
            "coordinator_partition": self.place["partition"],
            "file": self.segment["file"],
            "position": self.appended(offset, offset, 150, coordinator, written),
            "offset": offset,
            "coordinator_epoch": coordinator,
            "append_timestamp": written,
            "is_tombstone": False,
        }
        self.rows.transaction_states.append(self.place | row | known)
