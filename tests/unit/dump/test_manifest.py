"""`dump.toml`: what it says, and mistakes in it, which are answered with the file and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.writer import put
from txnlog.dump.manifest import CopyTime, Manifest, read_manifest
from txnlog.errors import DumpError

WHOLE = """
cluster = "payments"
started = 1970-01-01T00:00:01Z
ended = "1970-01-01T00:00:02+00:00"
transaction_max_timeout = "15m"
transaction_state_partitions = 20

[copies."broker-1"]
started = 3000

[copies."broker-2/disk-b/"]
started = "1970-01-01T00:00:04Z"
ended = "1970-01-01T00:00:05Z"

[copies.broker-3]
"""


def test_a_manifest_is_read(tmp_path: Path) -> None:
    put(tmp_path / "dump.toml", WHOLE)
    assert read_manifest(str(tmp_path / "dump.toml")) == Manifest(
        cluster="payments",
        whole=CopyTime(1000, 2000),
        copies={"broker-1": CopyTime(3000), "broker-2/disk-b": CopyTime(4000, 5000)},
        transaction_max_timeout_ms=900_000,
        transaction_state_partitions=20,
    )


@pytest.mark.parametrize(
    ("log_dir", "started"),
    [
        pytest.param("broker-1", 3000, id="the folder itself"),
        pytest.param("broker-1/data/kafka", 3000, id="a folder below it"),
        pytest.param("broker-2/disk-b", 4000, id="the nearest folder"),
        pytest.param("broker-2/disk-a", 1000, id="the whole dump where no folder is named"),
        pytest.param("broker-10", 1000, id="a name that only starts alike"),
        pytest.param("broker-3", 1000, id="a folder without a time"),
        pytest.param(".", 1000, id="the root"),
    ],
)
def test_a_copy_has_the_time_of_the_nearest_folder(tmp_path: Path, log_dir: str, started: int) -> None:
    put(tmp_path / "dump.toml", WHOLE)
    time = read_manifest(str(tmp_path / "dump.toml")).time_of(log_dir)
    assert time is not None
    assert time.started == started


def test_without_a_manifest_nothing_is_known() -> None:
    assert Manifest().time_of("broker-1") is None


MISTAKES = [
    pytest.param('clutser = "a"', "clutser", id="a key that is not one"),
    pytest.param('cluster = ""', "cluster", id="an empty cluster"),
    pytest.param("cluster = 5", "cluster", id="a cluster that is no text"),
    pytest.param('started = "2026-01-31T02:00:00"', "started", id="no time zone"),
    pytest.param("started = 2026-01-31T02:00:00", "started", id="no time zone in TOML's own type"),
    pytest.param("started = 2026-01-31", "started", id="a date"),
    pytest.param("started = 1.5", "started", id="a fraction"),
    pytest.param("started = true", "started", id="a truth"),
    pytest.param("started = [1]", "started", id="a list"),
    pytest.param("started = -1", "started", id="before 1970"),
    pytest.param("started = 5\nended = 4", "ended", id="an end before the start"),
    pytest.param("ended = 4", "ended", id="an end without a start"),
    pytest.param('transaction_max_timeout = "soon"', "transaction_max_timeout", id="a timeout that is none"),
    pytest.param("transaction_max_timeout = true", "transaction_max_timeout", id="a timeout that is a truth"),
    pytest.param("transaction_state_partitions = 0", "transaction_state_partitions", id="no partitions"),
    pytest.param("transaction_state_partitions = true", "transaction_state_partitions", id="true partitions"),
    pytest.param('transaction_state_partitions = "50"', "transaction_state_partitions", id="a text"),
    pytest.param("copies = 5", "copies", id="copies that are no tables"),
    pytest.param("[copies]\nbroker-1 = 5", "copies", id="a copy that is no table"),
    pytest.param('[copies.broker-1]\nstarted = "x"', r"copies\.broker-1\.started", id="a copy's time"),
    pytest.param("[copies.broker-1]\nstarted = 5\nended = 4", r"copies\.broker-1\.ended", id="a copy's end"),
    pytest.param("[copies.broker-1]\nstopped = 5", r"copies\.broker-1\.stopped", id="a key that no copy has"),
]


@pytest.mark.parametrize(("text", "key"), MISTAKES)
def test_a_mistake_is_answered_with_the_file_and_the_key(tmp_path: Path, text: str, key: str) -> None:
    put(tmp_path / "dump.toml", text)
    with pytest.raises(DumpError, match=rf"^{tmp_path}/dump\.toml: .*\b{key}\b") as caught:
        read_manifest(str(tmp_path / "dump.toml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"cluster = ", b'cluster = "\xff"', b"started = 5\nstarted = 6"])
def test_what_is_no_toml_is_answered_with_the_file(tmp_path: Path, content: bytes) -> None:
    put(tmp_path / "dump.toml", content)
    with pytest.raises(DumpError, match=rf"^{tmp_path}/dump\.toml: "):
        read_manifest(str(tmp_path / "dump.toml"))
