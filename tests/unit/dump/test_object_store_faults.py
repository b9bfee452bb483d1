"""Object stores that fail, refuse or lack something, and addresses that cannot be used: one line, and no secrets."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.file_rows import rows_below
from tests.object_store import BUCKET, Store
from tests.writer import data
from txnlog.dump.inventory import inventory
from txnlog.dump.object_store import BLOCK
from txnlog.dump.opener import dump_root, opened_segment, small_content
from txnlog.errors import DumpError, FormatError, StoreError
from txnlog.sources.data_sources import BatchesSource, DumpFilesSource, ProducerSnapshotsSource

FORBIDDEN = "403 Forbidden"
SEGMENT = "orders-0/00000000000000000000.log"


def test_a_segment_that_is_not_to_be_had_ends_the_reading_and_its_row_says_so(reader: Store) -> None:
    reader.put(f"broken/b1/{SEGMENT}", data(0))
    reader.put("broken/b1/orders-1/00000000000000000000.log", data(0))
    uri = reader.uri("broken")
    files = list(inventory(dump_root(uri)).files)
    with reader.failed(lambda method, key: SEGMENT in key):
        (row, whole) = [row for each in DumpFilesSource({}).rows(files) for row in each.to_pylist()]
    with (
        reader.failed(lambda method, key: SEGMENT in key, FORBIDDEN),
        pytest.raises(StoreError, match=f"s3://{BUCKET}/broken/b1/{SEGMENT}: .*ACCESS_DENIED"),
    ):
        rows_below(BatchesSource, uri)
    assert re.match(f"cannot be read: s3://{BUCKET}/broken/b1/{SEGMENT}: .*503", row["problem"])
    assert (row["bytes_damaged"], row["damaged_to"]) == (len(data(0)), 2**63 - 1)
    assert (whole["problem"], whole["batches"]) == (None, 1)


def test_a_snapshot_that_is_not_to_be_had_is_not_one_without_entries(reader: Store) -> None:
    reader.put("snapshot/b1/orders-0/00000000000000000005.snapshot", b"anything")
    with (
        reader.failed(lambda method, key: key.endswith(".snapshot"), FORBIDDEN),
        pytest.raises(StoreError, match="snapshot: "),
    ):
        rows_below(ProducerSnapshotsSource, reader.uri("snapshot"))


def test_a_broker_whose_properties_are_not_to_be_had_is_not_one_without_a_name(reader: Store) -> None:
    reader.put(f"nameless/b1/{SEGMENT}", data(0))
    reader.put("nameless/b1/meta.properties", b"broker.id=7\n")
    with (
        reader.failed(lambda method, key: "meta" in key, FORBIDDEN),
        pytest.raises(StoreError, match=r"meta\.properties: "),
    ):
        inventory(dump_root(reader.uri("nameless")))


def test_a_manifest_that_cannot_be_used_is_named_without_settings(reader: Store) -> None:
    reader.put("mistaken/dump.toml", b"color = 1\n")
    with pytest.raises(DumpError, match=f"^s3://{BUCKET}/mistaken/dump.toml: color is not a key"):
        inventory(dump_root(reader.uri("mistaken")))


def replaced_while_read(reader: Store, content: bytes) -> None:
    with opened_segment(dump_root(reader.uri("replaced"))) as segment:
        segment.view(0, 100)
        reader.put("replaced", content)
        segment.view(BLOCK, 100)


@pytest.mark.parametrize("content", [bytes(BLOCK + 5), b"x" * (3 * BLOCK)], ids=["shorter", "of the same size"])
def test_an_object_that_is_replaced_while_it_is_read_is_an_error(reader: Store, content: bytes) -> None:
    reader.put("replaced", bytes(3 * BLOCK))
    with pytest.raises(StoreError, match="replaced: changed while it was read"):
        replaced_while_read(reader, content)


def test_an_object_that_ends_before_the_next_piece_is_an_error(reader: Store) -> None:
    reader.put("replaced", bytes(3 * BLOCK))
    with pytest.raises(StoreError, match=r"replaced: .*416"):
        replaced_while_read(reader, b"short")


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """What a disk that is nearly full looks like."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_without_room_for_a_segment_is_one_line(reader: Store) -> None:
    reader.put("too-large", bytes(2 << 20))
    path, says = dump_root(reader.uri("too-large")), r"cannot be kept in .*: File too large: name a larger disk"
    with largest_file(1 << 20), pytest.raises(StoreError, match=says):
        opened_segment(path)
    # Of one that becomes full meanwhile the first part is taken.
    with opened_segment(path) as segment, largest_file(1 << 20), pytest.raises(StoreError, match=says):
        segment.view(0, 100)


def test_nothing_is_left_in_the_folder_that_spark_gives(
    reader: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.put("kept", data(0))
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    with opened_segment(dump_root(reader.uri("kept"))) as segment:
        assert bytes(segment.view(0, 1000)) == data(0)
        used = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        assert any(name.startswith(str(tmp_path)) for name in used)
        assert list(tmp_path.iterdir()) == []


def test_a_small_file_that_is_too_large_is_asked_for_up_to_there(reader: Store) -> None:
    reader.put("meta", bytes(1000))
    path = dump_root(reader.uri("meta"))
    assert small_content(path, 1000) == bytes(1000)
    reader.requests.clear()
    with pytest.raises(FormatError, match="too many bytes: 100 are read"):
        small_content(path, 100)
    assert [request.range for request in reader.asked("GET")] == ["bytes=0-100"]


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("s3://key:secret@bucket/dump", "s3://bucket/dump: no credentials in an address"),
        ("s3a://key@bucket/dump", "s3a://bucket/dump: no credentials in an address"),
        ("abfss://data:secret@account.dfs.core.windows.net/dump", "no credentials in an address"),
        ("s3://bucket/dump?secret_key=secret", "s3://bucket/dump: secret_key cannot be set in an address"),
        ("abfss://data@account.dfs.core.windows.net/dump?client_secret=secret", "client_secret cannot be set"),
        ("gs:///dump", "gs:///dump: names no bucket"),
        ("s3://[bucket:secret/dump", "an address that starts with s3:// is none"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_secrets(uri: str, says: str) -> None:
    with pytest.raises(DumpError, match=says) as raised:
        dump_root(uri)
    assert "secret" not in str(raised.value).replace("secret_key", "").replace("client_secret", "")


def test_a_user_or_a_container_may_stand_in_an_address() -> None:
    for uri in ("abfss://data@account.dfs.core.windows.net/dump", "hdfs://txnlog@namenode:8020/dump"):
        assert dump_root(uri) == uri


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("s3://{bucket}/none?{settings}", "s3://{bucket}/none: there is no such object or folder"),
        ("s3://missing/dump?{settings}", "s3://missing/dump: .*(NO_SUCH_BUCKET|ACCESS_DENIED)"),
        ("s3://{bucket}/all?endpoint_override=127.0.0.1:1&scheme=http&region=r", "s3://{bucket}/all: .*connect"),
    ],
)
def test_a_place_that_cannot_be_reached_is_one_line(reader: Store, uri: str, says: str) -> None:
    settings = reader.uri("").partition("?")[2]
    with pytest.raises(StoreError, match=says.format(bucket=BUCKET)) as raised:
        inventory(dump_root(uri.format(bucket=BUCKET, settings=settings)))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value"), [("AWS_SECRET_ACCESS_KEY", "another-secret"), ("AWS_ACCESS_KEY_ID", "nobody")]
)
def test_wrong_credentials_are_one_line_without_them(
    reader: Store, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(StoreError, match=f"s3://{BUCKET}/all: ") as raised:
        inventory(dump_root(reader.uri("all")))
    assert "\n" not in str(raised.value)
    assert not any(secret in str(raised.value) for secret in (value, *reader.credentials.values()) if secret != "true")


def test_no_key_that_a_store_can_have_stands_in_the_way(reader: Store) -> None:
    keys = ("b1/orders-0/notes?x=1", "b1/orders-0/a%2Fb", "b1/orders-0/c\x1b[31m", "b1/orders-0/d e#f", "b1/é-0/g")
    for key in keys:
        reader.put(f"hostile/{key}", b"0123")
    files = {file.file: file for file in inventory(dump_root(reader.uri("hostile"))).files}
    assert set(files) == set(keys)
    assert all(small_content(file.path, 4) == b"0123" for file in files.values())
