"""The job on a dump in an object store: the tables that the folder gives, each request counted, errors of one line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.processes import start
from tests.object_store import BUCKET, Store
from tests.small_dumps import small_dump
from txnlog.report.table_rows import rows
from txnlog.tables.layout import (
    BLOCKED_GROUPS,
    DUMP_FILES,
    FINDINGS,
    OPEN_TRANSACTIONS,
    PARTITION_TRANSACTIONS,
    RUNS,
    TABLES,
    VERIFICATIONS,
    Root,
)

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data" / "samples" / "kafka-3.5.2-torn"
TEXT = ROOT / "tests" / "texts" / "4.3.0" / "deep.txt"
UNLIMITED = 1 << 40
END = "exit code "
# What tells one run over a dump from another, and what only a file system knows.
OF_ONE_RUN = {
    RUNS.name: {"run_id", "started_at", "finished_at", "step_seconds", "options", "dump"},
    DUMP_FILES.name: {"modified"},
}
Answers = dict[str, tuple[int, str]]


def run(folder: Path, dumps: dict[str, str]) -> Answers:
    """Exit code and errors of `txnlog detect` for each of the dumps, all by one Spark."""
    commands: list[dict[str, Any]] = [
        {"arguments": ["detect", dump, "--tables", str(folder / name)], "largest_file": UNLIMITED}
        for name, dump in dumps.items()
    ]
    process = start(commands=commands)
    printed, errors = process.communicate(timeout=600)
    codes = [int(line.removeprefix(END)) for line in printed.splitlines() if line.startswith(END)]
    assert len(codes) == len(dumps), errors[-3000:]
    said = [text.partition("\n")[2] if number else text for number, text in enumerate(errors.split(END))]
    return dict(zip(dumps, zip(codes, said, strict=False), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("object-stores")


@pytest.fixture(scope="module")
def answers(store: Store, folder: Path) -> Answers:
    """A sample and a text from the folder and from the store, and three dumps that cannot be read."""
    shutil.copytree(SAMPLE, folder / "dump" / "torn")
    (folder / "dump/texts").mkdir()
    (folder / "dump/texts/dump.toml").write_text('cluster = "texts"\nstarted = "2026-11-21T12:00:00Z"\n')
    shutil.copy(TEXT, folder / "dump/texts/deep.txt")
    store.upload(folder / "dump", "e2e")
    # A store does not tell when the files were written: without that the folder must say the same.
    for file in (folder / "dump").rglob("*"):
        os.utime(file, (0, 0))
    store.upload(small_dump(folder / "forbidden"), "forbidden")
    dumps = {
        "near": str(folder / "dump"),
        "far": store.uri("e2e"),
        "forbidden": store.uri("forbidden"),
        "none": store.uri("none"),
        "elsewhere": store.uri("e2e", bucket="another"),
    }
    store.requests.clear()

    def is_forbidden(method: str, key: str) -> bool:
        return key.startswith("forbidden/") and key.endswith(".log")

    with pytest.MonkeyPatch.context() as patch, store.guarded(), store.failed(is_forbidden, "403 Forbidden"):
        for name, value in store.credentials.items():
            patch.setenv(name, value)
        return run(folder / "tables", dumps)


def test_all_tables_are_those_of_the_folder(answers: Answers, folder: Path) -> None:
    assert (answers["near"][0], answers["far"][0]) == (0, 0), answers["far"][1][-3000:]
    near, far = Root(str(folder / "tables/near")), Root(str(folder / "tables/far"))
    assert {row["cluster"] for row in rows(near, OPEN_TRANSACTIONS)} == {"sample-3.5.2-torn", "texts"}
    for table in TABLES:
        left_out = OF_ONE_RUN.get(table.name, set())
        compared = [
            sorted(repr({name: row[name] for name in row if name not in left_out}) for row in rows(root, table))
            for root in (near, far)
        ]
        # Of the running cluster, of consumer groups and of --full.
        assert compared[0] or table in (VERIFICATIONS, BLOCKED_GROUPS, PARTITION_TRANSACTIONS, FINDINGS)
        assert compared[1] == compared[0]


def test_a_segment_is_read_once_and_each_reading_of_the_tree_is_one_listing(answers: Answers, store: Store) -> None:
    segments = store.asked("GET", "e2e/torn/broker-1/orders-0/00000000000000000000.log")
    assert len(segments) == 1
    gets, heads = store.asked("GET", "e2e/"), store.asked("HEAD", "e2e/")
    assert len(gets) <= len(heads)
    # Once in each of the runs that may list (far, forbidden, none): the data sources are told.
    assert len([each for each in store.listings() if each.status == "200"]) == 3


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("forbidden", 1, lambda line: f"s3://{BUCKET}/forbidden/" in line and "ACCESS_DENIED" in line),
        ("none", 2, lambda line: line.startswith(f"txnlog: s3://{BUCKET}/none: there is no such")),
        ("elsewhere", 2, lambda line: "s3://another/e2e: " in line),
    ],
)
def test_what_cannot_be_read_is_one_line(
    answers: Answers, store: Store, name: str, code: int, says: Callable[[str], bool]
) -> None:
    found, errors = answers[name]
    lines = [line for line in errors.splitlines() if line.startswith("txnlog: ")]
    assert found == code, errors[-3000:]
    assert len(lines) == 1
    assert says(lines[0]), lines
    assert store.credentials["AWS_SECRET_ACCESS_KEY"] not in errors


def test_no_credentials_are_in_the_tables(answers: Answers, store: Store, folder: Path) -> None:
    secrets = {store.credentials[name].encode() for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    written = [path for path in (folder / "tables").rglob("*") if path.is_file()]
    assert len(written) > 20
    assert not [path for path in written if any(secret in path.read_bytes() for secret in secrets)]
