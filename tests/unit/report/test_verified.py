"""`abort-list` offers what the live cluster was just seen to be stuck at, and nothing else."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.abort_scripts import aborts, candidate
from txnlog.report.abort_candidates import rendered
from txnlog.report.verified import NOT_LATELY, by_verification

NOW = datetime(2026, 11, 22, 3, tzinfo=UTC)
MINUTE = 60_000


def verification(status: str, minutes_ago: float, **values: Any) -> dict[str, Any]:
    key = {name: candidate()[name] for name in ("cluster", "topic", "partition", "producer_id", "start_offset")}
    return key | {"status": status, "verified_at": NOW - timedelta(minutes=minutes_ago), "reason": "at 42"} | values


OFFERED, BLOCKED = "offered", "blocked"


@pytest.mark.parametrize(
    ("seen", "lately", "ever"),
    [
        pytest.param([], NOT_LATELY, OFFERED, id="never verified"),
        pytest.param([verification("STILL_STUCK", 10)], OFFERED, OFFERED, id="ten minutes ago to the letter"),
        pytest.param([verification("STILL_STUCK", 10.001)], NOT_LATELY, OFFERED, id="longer ago"),
        pytest.param([verification("STILL_STUCK", -11)], NOT_LATELY, OFFERED, id="by a clock that is ahead"),
        pytest.param(
            [verification("STILL_STUCK", 5), verification("RESOLVED", 1)], "RESOLVED", "RESOLVED", id="resolved since"
        ),
        pytest.param([verification("RESOLVED", 11)], "RESOLVED", "RESOLVED", id="resolved long ago"),
        pytest.param([verification("GONE", 11)], "GONE", "GONE", id="gone long ago"),
        pytest.param(
            [verification("UNKNOWN", 5), verification("STILL_STUCK", 1)], OFFERED, OFFERED, id="not reached at first"
        ),
        pytest.param([verification("UNKNOWN", 1)], "UNKNOWN", OFFERED, id="not reached"),
        pytest.param([verification("BLOCKED_BY_EARLIER", 1)], BLOCKED, OFFERED, id="after an earlier one"),
        pytest.param([verification("BLOCKED_BY_EARLIER", 11)], NOT_LATELY, OFFERED, id="after one long ago"),
        pytest.param([verification("STILL_STUCK", 1, start_offset=43)], NOT_LATELY, OFFERED, id="another transaction"),
        pytest.param([verification("RESOLVED", 1, cluster="d")], NOT_LATELY, OFFERED, id="another cluster"),
    ],
)
def test_the_newest_verification_decides(seen: list[dict[str, Any]], lately: str, ever: str) -> None:
    for within, expected in ((10 * MINUTE, lately), (None, ever)):
        found = by_verification([candidate()], seen, within, NOW)
        said = [*(OFFERED for _ in found.offered), *(BLOCKED for _ in found.blocked), *found.left_out]
        assert said == [expected]


def test_a_line_says_when_it_was_verified_and_what_was_seen() -> None:
    seen = [verification("STILL_STUCK", 1, reason="at 42\ntouch owned")]
    found = by_verification([candidate()], seen, MINUTE, NOW).offered
    said = "# verified on the live cluster at 2026-11-22T02:59:00.000Z: STILL_STUCK: at 42\\ntouch owned\n"
    assert said in aborts(*found)
    (row,) = json.loads(rendered(found, "json"))
    assert row["verified_at"] == "2026-11-22T02:59:00.000Z"
    header, line = csv.reader(io.StringIO(rendered(found, "csv"), newline=""))
    assert dict(zip(header, line, strict=True))["verification"] == "STILL_STUCK: at 42\ntouch owned"
