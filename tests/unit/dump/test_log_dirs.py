"""Log directories of a dump: whose they are, and when they were copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.writer import put, segment
from txnlog.dump.dump_file import FileKind
from txnlog.dump.inventory import inventory
from txnlog.dump.manifest import CopyTime
from txnlog.errors import DumpError


def test_a_broker_may_have_several_log_directories_at_any_depth(tmp_path: Path) -> None:
    for folder in ("b1/disk-a", "b1/disk-b", "east/rack/7/b2/data"):
        broker = folder.split("/")[-2][1]
        put(tmp_path / folder / "meta.properties", f"cluster.id=c\nnode.id={broker}\n")
        segment(tmp_path / folder, "orders-0", b"")
    found = [(each.log_dir, each.broker, each.cluster) for each in inventory(tmp_path).log_dirs]
    assert found == [("b1/disk-a", "1", "c"), ("b1/disk-b", "1", "c"), ("east/rack/7/b2/data", "2", "c")]


def test_without_meta_properties_the_folder_is_the_broker(tmp_path: Path) -> None:
    segment(tmp_path / "b1" / "data", "orders-0", b"")
    (log_dir,) = inventory(tmp_path).log_dirs
    assert (log_dir.broker, log_dir.cluster, log_dir.copied) == ("b1/data", "unnamed", None)
    assert [log_dir.cluster for log_dir in inventory(tmp_path, "given").log_dirs] == ["given"]


def test_a_dump_can_be_a_single_log_directory(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", b"")
    (log_dir,) = inventory(tmp_path).log_dirs
    assert (log_dir.log_dir, log_dir.broker) == (".", ".")
    assert [file.log_dir for file in inventory(tmp_path).files] == ["."]


def test_a_log_directory_without_an_id_is_of_the_only_cluster_there_is(tmp_path: Path) -> None:
    put(tmp_path / "b1" / "meta.properties", "cluster.id=c\nbroker.id=1\n")
    segment(tmp_path / "b1", "orders-0", b"")
    segment(tmp_path / "b2", "orders-0", b"")
    assert [(each.broker, each.cluster) for each in inventory(tmp_path).log_dirs] == [("1", "c"), ("b2", "c")]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"nonsense", b"broker.id=\ncluster.id="])
def test_a_meta_properties_that_says_nothing_is_as_if_it_were_not_there(tmp_path: Path, content: bytes) -> None:
    put(tmp_path / "b1" / "meta.properties", content)
    (log_dir,) = inventory(tmp_path).log_dirs
    assert (log_dir.broker, log_dir.cluster) == ("b1", "unnamed")


def test_two_clusters_under_one_name_are_an_error_that_names_both(tmp_path: Path) -> None:
    """Item 43: report, never guess."""
    for folder, cluster in (("b1", "east-id"), ("b2", "west-id")):
        put(tmp_path / folder / "meta.properties", f"cluster.id={cluster}\nbroker.id=1\n")
    put(tmp_path / "dump.toml", 'cluster = "payments"')
    with pytest.raises(DumpError) as caught:
        inventory(tmp_path)
    assert {"b2", "east-id", "west-id", "payments"} <= {word.strip(":,") for word in str(caught.value).split()}


def test_two_dumps_of_one_cluster_are_two_copies_of_a_broker(tmp_path: Path) -> None:
    """Item 43: nothing tells them apart; each keeps its own time."""
    for night, started in (("monday", 10), ("tuesday", 20)):
        put(tmp_path / night / "b1" / "meta.properties", "cluster.id=c\nbroker.id=1\n")
        put(tmp_path / night / "dump.toml", f"started = {started}")
        segment(tmp_path / night / "b1", "orders-0", b"")
    found = [(each.cluster, each.broker, each.log_dir, each.copied) for each in inventory(tmp_path).log_dirs]
    assert found == [("c", "1", "monday/b1", CopyTime(10)), ("c", "1", "tuesday/b1", CopyTime(20))]


def test_dumps_of_several_clusters_each_have_their_own_manifest(tmp_path: Path) -> None:
    for name, started in (("east", 20), ("west", 50)):
        put(tmp_path / name / "b1" / "meta.properties", f"cluster.id={name}-id\nbroker.id=1\n")
        put(
            tmp_path / name / "dump.toml",
            f'cluster = "{name}"\n[copies.b1]\nstarted = {started}',
        )
        segment(tmp_path / name / "b1", "orders-0", b"")
    put(tmp_path / "dump.toml", 'cluster = "not mine"')
    found = inventory(tmp_path)
    assert [(each.cluster, each.broker, each.copied) for each in found.log_dirs] == [
        ("east", "1", CopyTime(20)),
        ("west", "1", CopyTime(50)),
    ]
    segments = [file for file in found.files if file.kind is FileKind.SEGMENT]
    assert [file.cluster for file in segments] == ["east", "west"]


def test_a_broken_manifest_deep_in_the_dump_is_named(tmp_path: Path) -> None:
    put(tmp_path / "a" / "b" / "dump.toml", "nonsense")
    with pytest.raises(DumpError, match=r"/a/b/dump\.toml: "):
        inventory(tmp_path)


def test_a_folder_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="no such dump: No such file"):
        inventory(tmp_path / "no such dump")


def test_an_empty_folder_is_an_empty_dump(tmp_path: Path) -> None:
    found = inventory(tmp_path)
    assert (found.files, found.log_dirs) == ((), ())
