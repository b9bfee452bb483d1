"""`txnlog copy-script` and `txnlog check` as people type them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.copy_scripts import Place, log_dir
from tests.writer import put
from txnlog.cli import main

SHOP = Path(__file__).parents[2] / "data/samples/shop"


def test_a_script_that_is_printed_makes_a_dump_that_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, broker = Place(tmp_path), log_dir(tmp_path / "data", 3, "orders-0", "__transaction_state-0")
    given = ["--cluster", "shop", "--coordinator-partitions", "1", "--max-transaction-timeout", "15m", "--tar"]
    assert main(["copy-script", *given, "--to", str(place.to), f"3={broker}"]) == 0
    subprocess.run(["bash", "-c", capsys.readouterr().out], check=True, capture_output=True)
    times = place.manifest()["copies"]
    began, ended = times["broker-3"]["started"], times["coordinators-3"]["ended"]
    assert main(["check", str(place.to)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "cluster shop",
        "  1 broker: 3; log directories: 2",
        "  1 partition of 1 topic, 1 partition of __transaction_state (with replicas 2 logs)",
        "  4 segments, 2 producer snapshots, 2 leader-epoch-checkpoint files (1838 bytes)",
        "  log directories with segments: 2; replication-offset-checkpoint in 2, listing.tsv in 2",
        f"  copied {began} to {ended}",
        "  nothing is missing",
        f"Next: txnlog detect '{place.to}' --tables ROOT",
    ]


def test_what_is_missing_is_one_line_each_with_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(SHOP)]) == 0
    missing = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  missing: ")]
    assert [line.split(": ")[1] for line in missing] == [
        "copies of __transaction_state from after the data",
        "listing.tsv",
    ]
    assert missing[1].startswith("  missing: listing.tsv: broker-1, broker-2, broker-3: the end of a quiet log")


def test_many_names_are_counted_and_none_reaches_the_terminal_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(10, 17):
        put(log_dir(tmp_path / "broker-1", 1) / "orders-0" / f"{number:020}.log\x1b.gz")
    assert main(["check", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "and 2 more: their partitions are UNDETERMINED" in printed


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["check", "/no/such"], "/no/such: there is no such folder"),
        (["check", str(Path(__file__).parent)], "there are no Kafka logs in it"),
        (["copy-script", "data"], "'data' is not a log directory: write it as 1=/path"),
        (["copy-script", "--snapshot-started", "1", "1=/d"], "--snapshot-started, --snapshot-ended: both or none"),
        (["copy-script", "--coordinator-partitions", "0", "1=/d"], "--coordinator-partitions: must be above 0"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert problem in printed.err
    assert printed.err.count("\n") == 1


def test_a_check_needs_no_spark() -> None:
    code = (
        f"import sys; from txnlog.cli import main; main(['check', {str(SHOP)!r}]); sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
