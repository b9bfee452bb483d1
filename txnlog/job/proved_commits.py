"""What a dump proves committed stays so in later dumps, even if those were judged first."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.clock import has_same_batches
from txnlog.detection.rules import BY_ANOTHER, own_reason
from txnlog.detection.verdicts import Confidence
from txnlog.keys import TRANSACTION
from txnlog.tables.changes import IS_ANOTHER, SEEN_FIRST, rows_of_table
from txnlog.tables.layout import OPEN_TRANSACTIONS

# The columns of a verdict, all of which are taken over.
_VERDICT = (
    *("cause", "action", "confidence", "lacking", "also_lacking", "wanted_cause", "accepted"),
    *("evidence_state", "evidence_offset", "evidence_timestamp", "evidence_file", "evidence_position"),
)
_REASON = f"concat('{BY_ANOTHER}', {own_reason('kept_reason')})"
# Of other batches, and of what is left without the first, it says nothing certain.
_CONFIDENCE = f"if({has_same_batches('kept_')}, kept_confidence, '{Confidence.MEDIUM.value}')"


def kept_in_later_dumps(found: DataFrame, known: DataFrame) -> DataFrame:
    """The rows of `known` that have to become KEEP: a dump before theirs proves the transaction committed.

    Both are rows of `open_transactions`; `found` are those of the dump that was judged now. It is as if the later dumps
    had been judged after it.
    """
    proved = found.where("action = 'KEEP'").selectExpr(
        *TRANSACTION,
        "as_of AS kept_as_of",
        "reason AS kept_reason",
        *(f"{name} AS kept_{name}" for name in (*_VERDICT, "batches", "bytes", "last_timestamp")),
        *SEEN_FIRST,
    )
    later = (
        known.where("action <> 'KEEP'")
        .join(proved, [*TRANSACTION], "inner")
        .where(f"as_of > kept_as_of AND NOT {IS_ANOTHER}")
    )
    values = {name: f"kept_{name}" for name in _VERDICT} | {"confidence": _CONFIDENCE, "reason": _REASON}
    return rows_of_table(OPEN_TRANSACTIONS, later, values)
