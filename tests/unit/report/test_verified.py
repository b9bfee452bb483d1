"""`abort-list --verified-within` offers what the live cluster was just seen to be stuck at, and nothing else."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.unit.report.test_abort_list import candidate
from txnlog.report.abort_list import rendered
from txnlog.report.verified import still_stuck

NOW = datetime(2026, 11, 22, 3, tzinfo=UTC)
MINUTE = 60_000


def verification(status: str, minutes_ago: float, **values: Any) -> dict[str, Any]:
    key = {name: candidate()[name] for name in ("cluster", "topic", "partition", "producer_id", "start_offset")}
    return key | {"status": status, "verified_at": NOW - timedelta(minutes=minutes_ago), "reason": "at 42"} | values


@pytest.mark.parametrize(
    ("seen", "offered"),
    [
        pytest.param([], False, id="never verified"),
        pytest.param([verification("STILL_STUCK", 10)], True, id="ten minutes ago to the letter"),
        pytest.param([verification("STILL_STUCK", 10.001)], False, id="longer ago"),
        pytest.param([verification("STILL_STUCK", -11)], False, id="by a clock that is ahead"),
        pytest.param([verification("STILL_STUCK", 5), verification("RESOLVED", 1)], False, id="resolved since"),
        pytest.param([verification("UNKNOWN", 5), verification("STILL_STUCK", 1)], True, id="not reached at first"),
        pytest.param([verification("BLOCKED_BY_EARLIER", 1)], False, id="behind an earlier one"),
        pytest.param([verification("STILL_STUCK", 1, start_offset=43)], False, id="another transaction"),
        pytest.param([verification("STILL_STUCK", 1, cluster="d")], False, id="another cluster"),
    ],
)
def test_the_newest_verification_decides(seen: list[dict[str, Any]], offered: bool) -> None:
    assert bool(still_stuck([candidate()], seen, 10 * MINUTE, NOW)) is offered


def test_a_line_says_when_it_was_verified_and_what_was_seen() -> None:
    found = still_stuck([candidate()], [verification("STILL_STUCK", 1, reason="at 42\ntouch owned")], MINUTE, NOW)
    assert "# verified on the live cluster at 2026-11-22T02:59:00.000Z: at 42\\ntouch owned\n" in rendered(found, "sh")
    (row,) = json.loads(rendered(found, "json"))
    assert row["verified_at"] == "2026-11-22T02:59:00.000Z"
    header, line = csv.reader(io.StringIO(rendered(found, "csv"), newline=""))
    assert dict(zip(header, line, strict=True))["verification"] == "at 42\ntouch owned"
