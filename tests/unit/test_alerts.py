"""The alert rules of conf/ are what Prometheus takes, and fire for what `txnlog metrics` writes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tools import ALL_INSTALLED, needed
from txnlog.report.prometheus import Figures, exposition
from txnlog.report.verified import with_verification

RULES = Path(__file__).parents[2] / "conf" / "prometheus-rules.yaml"
HOURS = 48
# promtool's clock starts in 1970.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DUMPED = EPOCH + timedelta(hours=1)
KEY = {"cluster": "c", "topic": "orders", "partition": 0, "producer_id": 7, "start_offset": 42}
ABORT, NO_METRICS, STOPPED, OLD_DUMP = (
    "HangingTransactionToAbort", "TxnlogHasNoMetrics", "TxnlogDoesNotRun", "TxnlogReadsAnOldDump"
)  # fmt: skip


def candidate() -> dict[str, Any]:
    return KEY | {"cause": "NEVER_ADDED", "as_of": DUMPED}


def verification(status: str, hours_after: float = 1) -> dict[str, Any]:
    return KEY | {"status": status, "verified_at": DUMPED + timedelta(hours=hours_after)}


def accepted() -> dict[str, Any]:
    """What `--accept-compacted-history` marks."""
    return KEY | {
        "cause": "HISTORY_COMPACTED", "action": "UNDETERMINED", "wanted_cause": "NEVER_ADDED", "accepted": True,
        "late": True, "open_for_ms": 7_200_000, "held_back_records": 5, "as_of": DUMPED,
    }  # fmt: skip


def metrics(
    candidates: list[dict[str, Any]],
    seen: list[dict[str, Any]],
    dumped: datetime = DUMPED,
    found: Sequence[dict[str, Any]] = (),
) -> str:
    """What `txnlog metrics` writes of one run over a dump, in which these transactions were found open."""
    run = {
        "cluster": "c", "as_of_from": dumped, "as_of_to": dumped, "finished_at": DUMPED + timedelta(hours=1),
        "open_transactions": 1, "bytes": 10, "bytes_damaged": 0, "coordinator_partitions": 50,
        "coordinator_partitions_missing": 0, "partitions_with_late_transactions": 1,
    }  # fmt: skip
    return exposition(Figures([run], found, with_verification(candidates, seen), {}, []))


def fire(folder: Path, text: str, hour: int, *alerts: str) -> subprocess.CompletedProcess[str]:
    """Ask promtool whether these alerts fire at an hour, and no others, while the metrics stay as they are."""
    lines = (line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("txnlog_"))
    series = [{"series": name, "values": f"{value}x{60 * HOURS}"} for name, value in lines]
    firing = {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": f"{hour}h",
        "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in alerts],
    }  # fmt: skip
    test = {
        "rule_files": [str(RULES)], "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": [firing]}],
    }  # fmt: skip
    path = folder / "test.yaml"
    path.write_text(yaml.safe_dump(test))
    command = [needed("promtool", "prometheus"), "test", "rules", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_prometheus_takes_the_rules() -> None:
    done = subprocess.run(
        [needed("promtool", "prometheus"), "check", "rules", RULES], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "SUCCESS" in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(
    ("text", "hour", "alerts"),
    [
        pytest.param(metrics([], []), 3, [], id="nothing to abort"),
        pytest.param(metrics([candidate()], []), 3, [ABORT], id="a candidate"),
        pytest.param(metrics([candidate()], [verification("STILL_STUCK")]), 3, [ABORT], id="still stuck"),
        pytest.param(metrics([candidate()], [verification("UNKNOWN")]), 3, [ABORT], id="not reached"),
        pytest.param(metrics([candidate()], [verification("RESOLVED")]), 3, [], id="resolved"),
        pytest.param(metrics([candidate()], [verification("GONE")]), 3, [], id="gone"),
        pytest.param(
            metrics([candidate()], [verification("RESOLVED", 2), verification("STILL_STUCK", 1)]), 3, [],
            id="resolved since",
        ),
        pytest.param(
            metrics([candidate()], [verification("RESOLVED", -1)]), 3, [ABORT], id="a later dump shows it again"
        ),
        pytest.param(metrics([], [], found=[accepted()]), 3, [], id="accepted without its history"),
        pytest.param(metrics([], []), 38, [OLD_DUMP], id="a dump 36 hours old"),
        pytest.param(metrics([], []), 39, [OLD_DUMP, STOPPED], id="and no run since"),
        pytest.param("", 0, [], id="no metrics, for less than an hour"),
        pytest.param("", 2, [NO_METRICS], id="no metrics"),
    ],
)  # fmt: skip
def test_which_alerts_fire(tmp_path: Path, text: str, hour: int, alerts: list[str]) -> None:
    done = fire(tmp_path, text, hour, *alerts)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_alert_that_does_not_fire_is_noticed(tmp_path: Path) -> None:
    assert fire(tmp_path, metrics([], []), 3, ABORT).returncode == 1


def test_in_ci_a_missing_program_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALL_INSTALLED, "all")
    with pytest.raises(pytest.fail.Exception, match="apt-get install absent-package"):
        needed("absent-program", "absent-package")
    script = (RULES.parents[1] / ".ci" / "run").read_text("utf-8")
    assert f"\nexport {ALL_INSTALLED}=all\n" in script
    (installed,) = re.findall(r"--no-install-recommends (.*)$", script, re.MULTILINE)
    assert {"prometheus", "rsync"} <= set(installed.split())
