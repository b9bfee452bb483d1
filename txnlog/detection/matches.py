"""Which of the transactions that coordinators recorded each transaction in a partition is of.

`txnlog.report.recorded` tells the same of one partition, without Spark; a test holds one against the other.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.keys import PARTITION

# A transaction of version 2 has an epoch of its own; others are told by the time of the marker.
EPOCH, TIME = "EPOCH", "TIME"
_EPOCH = (*PARTITION, "producer_id", "epoch")
_OF_EPOCH = f"PARTITION BY {', '.join(_EPOCH)}"
_IN_TURN = f"{_OF_EPOCH} ORDER BY at, is_row, begun ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_LAST = ("only", "commit", "abort", "near")
_RECORDED = ("transactional_id", "start_timestamp", "listed_at", "decided_at", "completed_at", "recorded_outcome")


def with_recorded(rows: DataFrame, transactions: DataFrame, skew_ms: int) -> DataFrame:
    """Rows of `PartitionTransactionRow` with their transaction, a row of `transactions`, and how it was found.

    A marker is written between the decision and the Complete* record. Another outcome than the marker's counts only
    where no other transaction can be meant, if the clocks of coordinator and leader are `skew_ms` apart.

    Both kinds of rows are put in one order, so that each row has the latest transaction before it: a join by time would
    compare all of a producer id with one another, and a second order would take as long as the first.
    """
    is_ended = "outcome IN ('COMMIT', 'ABORT') AND marker_timestamp IS NOT NULL"
    markers = rows.selectExpr(
        "*", f"if({is_ended}, marker_epoch, NULL) AS epoch", "marker_timestamp AS at", "true AS is_row"
    )
    together = markers.unionByName(_events(transactions, skew_ms), allowMissingColumns=True)
    found = together.selectExpr("*", *(f"last_value({each}, true) OVER ({_IN_TURN}) AS last_{each}" for each in _LAST))
    is_then = "then.until >= at AND coalesce(then.same_until < at, true)"
    is_near = f"last_near.until + {skew_ms} >= at AND coalesce(last_near.any_until + {skew_ms} < at, true)"
    return (
        found.where("is_row")
        .selectExpr("*", "if(outcome = 'COMMIT', last_commit, last_abort) AS then")
        .selectExpr(
            f"* EXCEPT (epoch, at, is_row, begun, then, {', '.join(_LAST)}, last_{', last_'.join(_LAST)})",
            f"coalesce(last_only, if({is_then}, then.recorded, NULL), if({is_near}, last_near.recorded, NULL))"
            " AS recorded",
            f"if(last_only IS NULL, '{TIME}', '{EPOCH}') AS found_by",
        )
        .selectExpr("* EXCEPT (recorded, found_by)", "if(recorded IS NULL, NULL, found_by) AS matched_by", "recorded.*")
    )


def _events(transactions: DataFrame, skew_ms: int) -> DataFrame:
    """When each transaction comes to count in each of its partitions, in the order of `at`.

    `only`: from the beginning on, as the one of its epoch. `commit`, `abort`: from its decision on. `near`: from when
    that may have been if the clocks are apart. Each has how long it counts, and how long those before it did.
    """
    listed = transactions.where("end_epoch IS NOT NULL").selectExpr(
        "cluster",
        "producer_id",
        "end_epoch AS epoch",
        "transactional_id",
        "start_timestamp",
        "outcome AS recorded_outcome",
        "coalesce(client_transaction_version = 2, false) AS has_own_epoch",
        "decided_at",
        "completed_at",
        "inline(partitions)",
    )
    ends = listed.selectExpr(
        *_EPOCH,
        "recorded_outcome",
        "start_timestamp AS begun",
        "if(completed_at IS NULL, NULL, unix_millis(decided_at)) AS decided",
        "if(decided_at IS NULL, NULL, unix_millis(completed_at)) AS until",
        f"struct({', '.join(_RECORDED)}) AS recorded",
        "has_own_epoch",
    )
    before = "ORDER BY decided, begun ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    known = ends.selectExpr(
        "*",
        f"has_own_epoch AND count(*) OVER ({_OF_EPOCH}) = 1 AS is_only",
        f"max(until) OVER ({_OF_EPOCH}, recorded_outcome {before}) AS same_until",
        f"max(until) OVER ({_OF_EPOCH} {before}) AS any_until",
    ).selectExpr("*", "struct(until, same_until, any_until, recorded) AS timed")
    # Two may end in the same millisecond.
    events = known.selectExpr(
        *_EPOCH,
        "begun",
        "false AS is_row",
        "recorded",
        "timed",
        "recorded_outcome",
        f"explode(if(is_only, array(NULL), array(decided, decided - {skew_ms}))) AS at",
        "is_only",
        "decided",
    )
    of_event = {
        "only": ("is_only", "recorded"),
        "commit": ("recorded_outcome = 'COMMIT' AND at = decided AND NOT is_only", "timed"),
        "abort": ("recorded_outcome = 'ABORT' AND at = decided AND NOT is_only", "timed"),
        "near": (f"at = decided - {skew_ms} AND NOT is_only", "timed"),
    }
    return events.selectExpr(
        *_EPOCH,
        "begun",
        "is_row",
        "at",
        *(f"if({condition}, {what}, NULL) AS {name}" for name, (condition, what) in of_event.items()),
    )
