"""Which file is what: names and places, before anything is read."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from tests.file_rows import rows
from tests.writer import put, segment
from txnlog.dump import listing
from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.inventory import inventory
from txnlog.dump.manifest import CopyTime
from txnlog.errors import DumpError
from txnlog.format.batch import NOTHING_FOLLOWS

SEGMENT = f"{0:020}.log"
UUID = "0123456789abcdef0123456789abcdef"


def files(root: Path) -> dict[str, DumpFile]:
    return {file.file: file for file in inventory(root).files}


def only(root: Path) -> DumpFile:
    (file,) = inventory(root).files
    return file


def test_garbage_is_collected_again_after_a_listing_that_fails_too(tmp_path: Path) -> None:
    put(tmp_path / "dump.toml", "no TOML")
    with pytest.raises(DumpError):
        inventory(tmp_path)
    assert gc.isenabled()


# --- directories (item 16) ---


@pytest.mark.parametrize(
    ("directory", "topic", "partition"),
    [
        ("orders-0", "orders", 0),
        ("orders.eu-west-1_v2-17", "orders.eu-west-1_v2", 17),
        ("a-1-2", "a-1", 2),
        ("-5", None, None),
        ("--5", "-", 5),
        ("__transaction_state-49", "__transaction_state", 49),
        ("t-2147483647", "t", 2147483647),
        ("t-2147483648", None, None),
        ("orders-", None, None),
        ("orders", None, None),
        (f"x-0.{UUID}-future-3", f"x-0.{UUID}-future", 3),
        ("x-delete-3", "x-delete", 3),
    ],
)
def test_the_topic_is_all_before_the_last_dash(
    tmp_path: Path, directory: str, topic: str | None, partition: int | None
) -> None:
    segment(tmp_path, directory, b"")
    file = only(tmp_path)
    assert (file.topic, file.partition) == (topic, partition)
    assert (file.kind is FileKind.SEGMENT) == (file.skipped is None) == (topic is not None)


@pytest.mark.parametrize("what", ["future", "delete", "stray"])
@pytest.mark.parametrize("name", ["orders-0", "a-1-2", "x" * 210], ids=["short", "dashes", "cut to fit a file name"])
def test_directories_that_are_not_the_log_are_skipped(tmp_path: Path, name: str, what: str) -> None:
    segment(tmp_path, f"{name}.{UUID}-{what}", b"12345")
    file = only(tmp_path)
    assert file.skipped == f"a directory of kind {what} is not the log"
    assert (file.topic, file.log_dir, file.size) == (None, ".", 5)


@pytest.mark.parametrize("name", ["00000000000000000000.log.deleted", "x.log.cleaned", "5.log.swap"])
def test_files_that_kafka_was_creating_or_deleting_are_skipped(tmp_path: Path, name: str) -> None:
    put(tmp_path / "orders-0" / name)
    segment(tmp_path, "orders-0", b"")
    skipped = [file.skipped for file in files(tmp_path).values() if file.file.endswith(name)]
    assert skipped == ["a file that Kafka was creating or deleting is not the log"]


def test_a_folder_named_like_a_partition_is_none_without_files_of_a_log(tmp_path: Path) -> None:
    put(tmp_path / "broker-1" / "meta.properties", "broker.id=7\n")
    put(tmp_path / "broker-1" / "notes-1.txt", "x")
    segment(tmp_path / "broker-1", "orders-0", b"")
    (log_dir,) = inventory(tmp_path).log_dirs
    assert (log_dir.log_dir, log_dir.broker) == ("broker-1", "7")
    assert {file.topic for file in files(tmp_path).values()} == {None, "orders"}


def test_a_folder_named_like_one_that_is_deleted_is_none_without_files_of_a_log(tmp_path: Path) -> None:
    put(tmp_path / "old-delete" / "dump.toml", 'cluster = "kept"')
    segment(tmp_path / "old-delete" / "b1", "orders-0", b"")
    assert [log_dir.cluster for log_dir in inventory(tmp_path).log_dirs] == ["kept"]


@pytest.mark.parametrize(
    ("name", "kind", "offset", "is_read"),
    [
        ("00000000000000000042.log", FileKind.SEGMENT, 42, True),
        ("00000000000000000042.snapshot", FileKind.PRODUCER_SNAPSHOT, 42, True),
        ("00000000000000000042.txnindex", FileKind.TRANSACTION_INDEX, 42, True),
        ("00000000000000000042.index", FileKind.OFFSET_INDEX, 42, False),
        ("00000000000000000042.timeindex", FileKind.TIME_INDEX, 42, False),
        ("leader-epoch-checkpoint", FileKind.LEADER_EPOCH_CHECKPOINT, None, True),
        ("partition.metadata", FileKind.PARTITION_METADATA, None, True),
        ("09223372036854775807.log", FileKind.SEGMENT, 2**63 - 1, True),
        ("09223372036854775808.log", FileKind.OTHER, None, False),
        ("42.log", FileKind.OTHER, None, False),
        ("00000000000000000042.LOG", FileKind.SEGMENT, 42, False),
        ("00000000000000000042.log.gz", FileKind.SEGMENT, 42, False),
        ("00000000000000000042.log.part", FileKind.SEGMENT, 42, False),
        (".00000000000000000042.log.Xy12Zq", FileKind.SEGMENT, 42, False),
        ("00000000000000000042.log~", FileKind.SEGMENT, 42, False),
        ("00000000000000000042 (1).log", FileKind.SEGMENT, 42, False),
        ("00000000000000000042.log.deleted", FileKind.OTHER, None, False),
    ],
)
def test_a_file_of_a_partition_is_known_by_its_name(
    tmp_path: Path, name: str, kind: FileKind, offset: int | None, is_read: bool
) -> None:
    put(tmp_path / "orders-0" / "partition.metadata")
    put(tmp_path / "orders-0" / name)
    file = files(tmp_path)[f"orders-0/{name}"]
    assert (file.kind, file.base_offset, file.skipped is None) == (kind, offset, is_read)


def test_files_of_a_log_directory_belong_to_no_topic(tmp_path: Path) -> None:
    names = ["replication-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint"]
    for name in names:
        put(tmp_path / "b1" / name)
    segment(tmp_path / "b1", "orders-0", b"")
    found = files(tmp_path)
    for name in names:
        file = found[f"b1/{name}"]
        assert (file.kind, file.topic, file.log_dir, file.skipped) == (FileKind.OFFSET_CHECKPOINT, None, "b1", None)


def test_the_metadata_log_is_skipped(tmp_path: Path) -> None:
    segment(tmp_path, "__cluster_metadata-0", b"x")
    assert "no transactions" in (only(tmp_path).skipped or "")


# --- what is no plain file ---


def test_symbolic_links_are_named_and_not_followed(tmp_path: Path) -> None:
    dump, outside = tmp_path / "dump", tmp_path / "outside"
    segment(outside, "secret-0", b"x")
    segment(dump, "orders-0", b"")
    (dump / "secret-0").symlink_to(outside / "secret-0")
    (dump / "orders-0" / f"{1:020}.log").symlink_to(outside / "secret-0" / SEGMENT)
    found = files(dump)
    assert len(found) == 3
    for name in ("secret-0", f"orders-0/{1:020}.log"):
        assert found[name].skipped == "a symbolic link is not followed"


@pytest.mark.parametrize("special", ["link", "link to nothing", "link to itself", "pipe"])
@pytest.mark.parametrize(
    "beside", ["orders-0/partition.metadata", "meta.properties", "recovery-point-offset-checkpoint"]
)
def test_what_stands_in_the_place_of_a_partitions_folder_hides_its_log(
    tmp_path: Path, special: str, beside: str
) -> None:
    dump, hidden = tmp_path / "dump", tmp_path / "dump" / "b1" / "hidden-3"
    put(dump / "b1" / beside)
    if special == "pipe":
        os.mkfifo(hidden)
    else:
        targets = {"link": tmp_path / "hidden-3", "link to nothing": tmp_path / "nowhere", "link to itself": hidden}
        segment(tmp_path, "hidden-3", b"x")
        hidden.symlink_to(targets[special])
    file = files(dump)["b1/hidden-3"]
    assert (file.kind, file.topic, file.partition, file.log_dir) == (FileKind.SEGMENT, "hidden", 3, "b1")
    assert file.skipped in ("a symbolic link is not followed", "not a regular file")
    (row,) = [row for row in rows([file]) if row["file"] == "b1/hidden-3"]
    assert (row["damaged_to"], row["bytes_skipped"]) == (NOTHING_FOLLOWS, row["size_in_bytes"])


def test_a_link_elsewhere_hides_no_partition(tmp_path: Path) -> None:
    segment(tmp_path / "broker-1", "orders-0", b"")
    put(tmp_path / "broker-1" / "partition.metadata.d" / "x")
    (tmp_path / "broker-2").symlink_to(tmp_path / "broker-1")
    (tmp_path / "broker-1" / "latest").symlink_to(tmp_path)
    found = files(tmp_path)
    assert [found[name].topic for name in ("broker-2", "broker-1/latest")] == [None, None]
    assert [each.log_dir for each in inventory(tmp_path).log_dirs] == ["broker-1"]


@pytest.mark.parametrize("name", ["x" * 81, "é" * 41, "__HIVE_DEFAULT_PARTITION__"])
def test_a_cluster_that_no_folder_can_be_named_after_is_refused(tmp_path: Path, name: str) -> None:
    segment(tmp_path / "b1", "orders-0", b"")
    with pytest.raises(DumpError, match="cluster"):
        inventory(tmp_path, name)
    assert inventory(tmp_path, name[:20]).log_dirs[0].cluster == name[:20]


def test_a_pipe_is_named_and_not_opened(tmp_path: Path) -> None:
    put(tmp_path / "orders-0" / "partition.metadata")
    os.mkfifo(tmp_path / "orders-0" / SEGMENT)
    assert files(tmp_path)[f"orders-0/{SEGMENT}"].skipped == "not a regular file"


def test_names_that_are_not_text_are_shown_as_text_and_can_be_opened(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/b\xe9"
    put(Path(os.fsdecode(folder)) / "meta.properties", "cluster.id=c\nbroker.id=3\n")
    put(Path(os.fsdecode(folder)) / "dump.toml", "started = 5")
    segment(Path(os.fsdecode(folder)), "caf\udcff-0", b"12")
    (log_dir,) = inventory(tmp_path).log_dirs
    assert (log_dir.log_dir, log_dir.cluster, log_dir.broker) == ("b\\xe9", "c", "3")
    assert log_dir.copied == CopyTime(5)
    file = files(tmp_path)[f"b\\xe9/caf\\xff-0/{SEGMENT}"]
    assert (file.topic, file.broker) == ("caf\\xff", "3")
    assert Path(file.path).read_bytes() == b"12"


def test_a_folder_that_cannot_be_opened_is_a_log_that_is_missing(tmp_path: Path) -> None:
    """Its path is longer than the system takes: that fails for every user, unlike missing rights."""
    segment(tmp_path, "orders-0", b"")
    here = os.open(tmp_path, os.O_RDONLY)
    for name in (*["d" * 250] * 17, "hidden-3"):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    hidden = [file for file in inventory(tmp_path).files if file.file != f"orders-0/{SEGMENT}"]
    assert len(hidden) == 1
    assert (hidden[0].skipped or "").startswith("cannot be read: ")


def test_a_file_that_cannot_be_looked_at_is_named(tmp_path: Path) -> None:
    """The folder's path is just short enough, the file's is too long."""
    length = 4095 - 10 - len(os.fsencode(tmp_path))
    names = ["d" * 250] * (length // 251) + ["d" * (length % 251 - 1)] * (length % 251 > 1)
    folder = tmp_path.joinpath(*names)
    folder.mkdir(parents=True)
    here = os.open(folder, os.O_RDONLY)
    os.close(os.open("f" * 255, os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    assert (only(tmp_path).skipped or "").startswith("cannot be read: ")


def test_a_volume_knows_only_when_a_file_was_put_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "orders-0" / SEGMENT, b"12")
    assert only(tmp_path).modified_ms > 0
    monkeypatch.setattr(listing, "WITHOUT_FILE_TIMES", (f"{tmp_path}/",))
    assert only(tmp_path).modified_ms == 0
