"""What a dump lacks is said with what it costs, and a complete one lacks nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.copy_scripts import log_dir
from tests.writer import listing, put, segment
from txnlog.dump.inventory import inventory
from txnlog.dump.lacks import Lack, clusters_of, lacking_files, lacks

ORDERS = "broker-1/orders-0"
FIRST, SECOND = f"{0:020}.log", f"{5:020}.log"
TIMES = {"broker-1": ("00:00", "00:10"), "coordinators-1": ("00:10", "00:20")}
Change = Callable[[Path], object]


def manifest(root: Path, times: dict[str, tuple[str, ...]] | None = None, *, partitions: int = 2) -> None:
    """`dump.toml` with these times of the copies."""
    text = f'transaction_max_timeout = "15m"\ntransaction_state_partitions = {partitions}\n' if partitions else ""
    for folder, moments in (TIMES if times is None else times).items():
        stated = zip(("started", "ended"), moments, strict=False)
        text += f'[copies."{folder}"]\n' + "".join(f'{key} = "2026-11-21T02:{at}Z"\n' for key, at in stated)
    put(root / "dump.toml", text)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    log_dir(tmp_path / "broker-1", 1, "orders-0", "pay-1")
    log_dir(tmp_path / "coordinators-1", 1, "__transaction_state-0", "__transaction_state-1")
    for folder in ("broker-1", "coordinators-1"):
        put(tmp_path / folder / "log-start-offset-checkpoint", "0\n0\n")
        listing(tmp_path / folder)
    manifest(tmp_path)
    return tmp_path


def found(dump: Path) -> list[Lack]:
    listed = inventory(dump)
    return [lack for copy in clusters_of(listed) for lack in lacks(copy)] + lacking_files(listed)


def without(*paths: str) -> Change:
    def remove(dump: Path) -> None:
        for path in paths:
            (dump / path).unlink()

    return remove


def replica(dump: Path) -> None:
    """Another broker with one of the two coordinators."""
    log_dir(dump / "coordinators-2", 2, "__transaction_state-1")
    listing(dump / "coordinators-2")
    manifest(dump, {**TIMES, "coordinators-2": TIMES["coordinators-1"]})


def late_start(dump: Path) -> None:
    without(f"{ORDERS}/{FIRST}", f"{ORDERS}/leader-epoch-checkpoint", "broker-1/log-start-offset-checkpoint")(dump)
    (dump / ORDERS / f"{0:020}.index").unlink()
    listing(dump / "broker-1")


def unseen(dump: Path) -> None:
    without(f"{ORDERS}/{FIRST}", f"{ORDERS}/{5:020}.snapshot", f"{ORDERS}/{0:020}.index")(dump)
    listing(dump / "broker-1")


def only_snapshots(dump: Path) -> None:
    for path in (dump / "coordinators-1/__transaction_state-1").glob("*.[li]*"):
        if path.name[0] == "0":
            path.unlink()
    listing(dump / "coordinators-1")


def no_coordinators(dump: Path) -> None:
    for path in (dump / "coordinators-1").rglob("*"):
        if path.is_file():
            path.unlink()


LACKING: dict[str, tuple[Change, str, list[str], str]] = {
    "a partition of the coordinators": (
        lambda dump: manifest(dump, partitions=4), "partitions of __transaction_state", ["2", "3"], "COVERAGE_GAP"),
    "all segments of a coordinator": (
        only_snapshots, "partitions of __transaction_state", ["1"], "COVERAGE_GAP"),
    "their number": (
        lambda dump: put(dump / "dump.toml", (dump / "dump.toml").read_text().replace("transaction_state_part", "#")),
        "number of partitions of __transaction_state", ["transaction_state_partitions in dump.toml"], "COVERAGE_GAP"),
    "all coordinators": (no_coordinators, "coordinators", ["no partition of __transaction_state"], "COVERAGE_GAP"),
    "a replica of one coordinator": (replica, "brokers' copies of partitions of __transaction_state", ["0"], "SKEW"),
    "high watermarks of coordinators": (
        without("coordinators-1/replication-offset-checkpoint"),
        "replication-offset-checkpoint", ["coordinators-1"], "COVERAGE_GAP"),
    "other high watermarks": (
        without("broker-1/replication-offset-checkpoint"), "replication-offset-checkpoint", ["broker-1"], "MEDIUM"),
    "times": (
        lambda dump: manifest(dump, {"broker-1": TIMES["broker-1"]}),
        "start of the copy in dump.toml", ["coordinators-1"], "MEDIUM"),
    "an end": (
        lambda dump: manifest(dump, {**TIMES, "coordinators-1": ("00:10",)}),
        "end of the copy in dump.toml", ["coordinators-1"], "SKEW"),
    "the order": (
        lambda dump: manifest(dump, {**TIMES, "coordinators-1": ("00:09", "00:20")}),
        "copies of __transaction_state from after the data", ["coordinators-1"], "SKEW"),
    "a listing": (without("broker-1/listing.tsv"), "listing.tsv", ["broker-1"], "SKEW, COVERAGE_GAP"),
    "where a log starts": (
        late_start, "leader-epoch-checkpoint and log-start-offset-checkpoint", [ORDERS], "COVERAGE_GAP"),
    "snapshots": (unseen, "producer snapshots", [ORDERS], "PHANTOM_BELOW_LOG_START"),
    "properties": (without("broker-1/meta.properties"), "meta.properties", ["broker-1"], "verify needs --cluster"),
    "the timeout": (
        lambda dump: put(dump / "dump.toml", (dump / "dump.toml").read_text().replace("transaction_max", "#")),
        "transaction.max.timeout.ms", ["transaction_max_timeout in dump.toml"], "15m counts"),
    "a segment in the middle": (
        lambda dump: listing(dump / "broker-1", f"./orders-0/{3:020}.log\t9\t1700000000000\n"),
        "segments missing", [f"{ORDERS}/{3:020}.log"], "COVERAGE_GAP"),
    "the last segment": (without(f"{ORDERS}/{SECOND}"), "segments missing", [f"{ORDERS}/{SECOND}"], "COVERAGE_GAP"),
    "a segment beside its index": (
        lambda dump: put(dump / "broker-1/orders-0" / f"{9:020}.txnindex"),
        "segments missing", [f"{ORDERS}/{9:020}.log"], "COVERAGE_GAP"),
    "a first segment, by retention": (
        without(f"{ORDERS}/{FIRST}", f"{ORDERS}/{0:020}.index"),
        "files deleted since they were listed", [f"{ORDERS}/{FIRST}"], ""),
    "the end of a file": (
        lambda dump: put(dump / ORDERS / FIRST, b""), "files shorter than listed", [f"{ORDERS}/{FIRST}"], "cut off"),
    "a whole log": (
        lambda dump: listing(dump / "broker-1", f"./new-0/{FIRST}\t9\t1700000000000\n"),
        "partitions that were listed", ["broker-1/new-0"], "no verdict"),
    "what cannot be read": (
        lambda dump: put(dump / ORDERS / f"{7:020}.log.gz"), "files that cannot be read",
        [f"{ORDERS}/{7:020}.log.gz (a segment that is compressed, renamed or incomplete: copy it again as NUMBER.log)"],
        "UNDETERMINED"),
}  # fmt: skip


def test_a_complete_dump_lacks_nothing(dump: Path) -> None:
    assert found(dump) == []


@pytest.mark.parametrize("case", LACKING)
def test_a_lack_is_said_with_its_place_and_what_it_costs(case: str, dump: Path) -> None:
    change, what, where, cost = LACKING[case]
    change(dump)
    (lack,) = [each for each in found(dump) if each.what == what]
    assert list(lack.where) == where
    assert cost in lack.cost
    assert bool(cost) == bool(lack.cost)


def test_what_a_dump_is_not_made_of_is_not_missed(dump: Path) -> None:
    names = (f"orders-0/{2:020}.index", f"orders-0/{2:020}.log.deleted", f"__cluster_metadata-0/{FIRST}", "notes.txt",
             f"orders-0.{'0' * 32}-delete/{FIRST}", "recovery-point-offset-checkpoint")  # fmt: skip
    listing(dump / "broker-1", "".join(f"./{name}\t9\t1700000000000\n" for name in names))
    segment(dump / "broker-1", "__cluster_metadata-0", b"")
    assert found(dump) == []
    (copy,) = clusters_of(inventory(dump))
    assert {topic for _, topic, _ in copy.logs} == {"orders", "pay", "__transaction_state"}


def test_a_checkpoint_of_log_starts_is_enough_to_show_one(dump: Path) -> None:
    without(f"{ORDERS}/{FIRST}", f"{ORDERS}/{0:020}.index", f"{ORDERS}/leader-epoch-checkpoint")(dump)
    listing(dump / "broker-1")
    assert found(dump) == []


def test_coordinators_need_no_producer_snapshots(dump: Path) -> None:
    coordinator = "coordinators-1/__transaction_state-0"
    without(*(f"{coordinator}/{name}" for name in (FIRST, f"{0:020}.index", f"{5:020}.snapshot")))(dump)
    listing(dump / "coordinators-1")
    assert found(dump) == []


def test_the_nearest_listing_counts(dump: Path) -> None:
    put(dump / "listing.tsv", f"# begun\t1700000000000\n./{ORDERS}/{8:020}.log\t9\t1700000000000\n")
    assert found(dump) == []


def test_printed_logs_need_no_checkpoints(tmp_path: Path) -> None:
    text = "Dumping orders-0/00000000000000000000.log\nLog starting offset: 0\n"
    put(tmp_path / "orders-0.txt", text)
    assert "coordinators" in {lack.what for lack in found(tmp_path)}
    assert {lack.what for lack in found(tmp_path)}.isdisjoint({"listing.tsv", "replication-offset-checkpoint"})


def test_clusters_are_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        log_dir(tmp_path / name / "broker-1", 1, "orders-0")
        put(tmp_path / name / "dump.toml", f'cluster = "{name}"\n')
    assert [(copy.name, len(copy.logs)) for copy in clusters_of(inventory(tmp_path))] == [("a", 1), ("b", 1)]
