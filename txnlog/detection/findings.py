"""What is odd about the transactions in partitions, by their logs and by what coordinators recorded: a row each.

`txnlog.report.partition_findings` names the same of one partition, without Spark; a test holds one against the other.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame

from txnlog.detection.causes import Cause
from txnlog.detection.matches import EPOCH
from txnlog.keys import PARTITION


def _iso(time: str) -> str:
    return f"""date_format({time}, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")"""


_PRODUCER = (*PARTITION, "producer_id")
# Its marker has the outcome of its transaction, by clocks that agree.
_IS_OWN = (
    f"coalesce(recorded_outcome = outcome AND (matched_by = '{EPOCH}'"
    " OR marker_timestamp BETWEEN decided_at AND completed_at), false)"
)
_IS_OF_ENDED_EPOCH = "coalesce(lowest_producer_epoch < previous_marker_epoch, false)"
_IS_EARLY = "coalesce(is_log_append_time AND first_timestamp < earliest, false)"
_IS_WITHOUT_DATA = "(first_offset IS NULL AND is_whole)"
_IS_TORN = "coalesce(recorded_outcome IN ('COMMIT', 'ABORT') AND recorded_outcome <> outcome, false)"
# Each transaction has one epoch, so a marker stood between the two.
_HAS_TWO_EPOCHS = f"(is_whole AND coalesce(lowest_producer_epoch < producer_epoch, false) AND NOT {_IS_OF_ENDED_EPOCH})"
_IS_LOST = f"coalesce(cause IN ('{Cause.MARKER_LOST_COMMIT}', '{Cause.MARKER_LOST_ABORT}'), false)"
_MARKER_BEFORE = "concat('the ', previous_marker_type, ' marker at offset ', previous_marker_offset)"
_SHARES = "shares the outcome of this one"


class _Kind(NamedTuple):
    """A finding: its name, of which rows it is, why (SQL), and whose file and byte are its evidence."""

    name: str
    condition: str
    reason: str
    evidence: str = "marker_"

    def row(self) -> str:
        """Its columns as a struct, null where it is not found."""
        columns = (
            f"'{self.name}' AS finding",
            f"{self.reason} AS why",
            f"{self.evidence}file AS evidence_file",
            f"{self.evidence}position AS evidence_position",
        )
        return f"if({self.condition}, struct({', '.join(columns)}), NULL)"


_KINDS = (
    _Kind(
        "LATE_WRITE",
        _IS_OF_ENDED_EPOCH,
        f"concat('data of epoch ', lowest_producer_epoch, ' after ', {_MARKER_BEFORE}, ' of epoch ',"
        f" previous_marker_epoch, ': it was written after its own transaction had ended, and {_SHARES}')",
        "",
    ),
    _Kind(
        "LATE_WRITE",
        f"{_IS_EARLY} AND NOT {_IS_OF_ENDED_EPOCH}",
        f"concat('the broker appended data at ', {_iso('first_timestamp')}, ', before its transaction listed the"
        f" partition at ', {_iso('listed_at')}, ': it was written after its own transaction had ended, or the marker of"
        f" that was lost, and {_SHARES}')",
        "",
    ),
    _Kind(
        "MARKER_WITHOUT_DATA",
        f"{_IS_WITHOUT_DATA} AND before_start IS NULL",
        "'the transaction wrote nothing here, or this is the second marker of the one before'",
    ),
    _Kind(
        "MARKER_TWICE",
        f"{_IS_WITHOUT_DATA} AND is_same",
        f"concat({_MARKER_BEFORE}, ' had ended the same transaction')",
    ),
    _Kind(
        "NEVER_WRITTEN",
        f"{_IS_WITHOUT_DATA} AND NOT is_same",
        "'the transaction lists the partition and wrote nothing here'",
    ),
    _Kind(
        "TORN_OUTCOME",
        _IS_TORN,
        "concat('the marker is ', outcome, ', and the coordinator decided ', recorded_outcome,"
        f" coalesce(concat(' at ', {_iso('decided_at')}), ''))",
    ),
    _Kind("MARKER_LOST", _IS_LOST, "verdict", ""),
    _Kind(
        "MARKER_LOST",
        f"{_HAS_TWO_EPOCHS} AND NOT {_IS_LOST}",
        "concat('no marker stands between its data of epoch ', lowest_producer_epoch, ' and of epoch ', producer_epoch,"
        f" ': that of an earlier transaction is not there, whose data {_SHARES}')",
        "",
    ),
)


def findings(listed: DataFrame, opened: DataFrame, skew_ms: int) -> DataFrame:
    """The columns of `FindingRow`, of rows of `partition_transactions`; `opened` are those of `open_transactions`.

    The clocks of coordinator and leader may be `skew_ms` apart.
    """
    known = listed.selectExpr(
        "*", f"{_IS_OWN} AS is_own", f"timestamp_millis(unix_millis(listed_at) - {skew_ms}) AS earliest"
    )
    is_odd = (_IS_OF_ENDED_EPOCH, _IS_EARLY, _IS_WITHOUT_DATA, _IS_TORN, _HAS_TWO_EPOCHS, "outcome = 'OPEN'")
    odd = known.where(" OR ".join(is_odd))
    verdicts = opened.selectExpr(*_PRODUCER, "start_offset AS first_offset", "as_of", "cause", "reason AS verdict")
    found = (
        odd.join(_before(known), [*_PRODUCER, "previous_marker_offset"], "left")
        .join(verdicts, [*_PRODUCER, "first_offset", "as_of"], "left")
        .selectExpr("*", "start_timestamp = before_start AND transactional_id = before_id AS is_same")
    )
    kinds = ", ".join(kind.row() for kind in _KINDS)
    return found.selectExpr("*", f"inline(filter(array({kinds}), each -> each IS NOT NULL))").selectExpr(
        "* EXCEPT (reason, file, position, why, evidence_file, evidence_position)",
        "why AS reason",
        "evidence_file AS file",
        "evidence_position AS position",
    )


def _before(known: DataFrame) -> DataFrame:
    """The transactions of the markers right before one without data, where both are surely those of their rows."""
    odd = known.where(f"{_IS_WITHOUT_DATA} AND is_own")
    wanted = odd.selectExpr(*_PRODUCER, "previous_marker_offset AS marker_offset")
    ended = known.where("is_own AND marker_offset IS NOT NULL")
    return ended.join(wanted, [*_PRODUCER, "marker_offset"], "left_semi").selectExpr(
        *_PRODUCER,
        "marker_offset AS previous_marker_offset",
        "start_timestamp AS before_start",
        "transactional_id AS before_id",
    )
