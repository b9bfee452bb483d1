"""The verdict on each open transaction: the first rule that applies (`RULES`), if each proof that it needs holds."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from pyspark.sql import DataFrame

from txnlog.config import Thresholds
from txnlog.detection.causes import CAUSES_OF_ABORT, DISCARDING, Action, Cause
from txnlog.detection.coordinator_proofs import HISTORY_IS_WHOLE
from txnlog.detection.proof import Proof
from txnlog.detection.proofs import CONTRADICTING, PROOFS
from txnlog.detection.rules import RULES


class Confidence(enum.StrEnum):
    """How whole the evidence is."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


BY_TEXT = " (by kafka-dump-log output)"


def with_verdicts(transactions: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Add `cause`, `action`, `confidence`, `reason`, `late` (null where the age cannot be known) and `lacking`.

    `lacking` names the missing proof that makes the verdict UNDETERMINED, `also_lacking` all others that are missing,
    and `wanted_cause` what it would be.
    `accepted`: an abort lacks only history, and the operator wants to see such rows. It stays UNDETERMINED. (For a
    producer id that no coordinator knows a gap of any of them is history, too.)
    `is_contradicted`: evidence contradicts an abort, though other proofs may be missing as well.
    """
    accepts = "true" if thresholds.accept_compacted_history else "false"
    against = " OR ".join(
        ["commit_is_missing", "commit_is_witnessed", *(f"NOT {proof.name}" for proof in CONTRADICTING)]
    )
    return (
        transactions.selectExpr("*", f"{first_rule()} AS rule")
        .selectExpr("*", f"{_missing()} AS missing")
        .selectExpr("*", "missing[0] AS lacking")
        .selectExpr(
            "* EXCEPT (rule, missing)",
            "if(size(missing) > 1, slice(missing, 2, size(missing)), NULL) AS also_lacking",
            f"if(lacking IS NULL, {_of_rule('cause')}, {_of_proof('cause')}) AS cause",
            f"if(lacking IS NULL, {_of_rule('action')}, '{Action.UNDETERMINED.value}') AS action",
            f"concat(coalesce(if(lacking IS NULL, {_reasons()}, {_lacking_reasons()}), 'its evidence is incomplete'),"
            f" if({_RESTS_ON_TEXT}, '{BY_TEXT}', '')) AS reason",
            f"if(lacking IS NULL, NULL, {_of_rule('cause')}) AS wanted_cause",
            f"if(last_activity IS NOT NULL, is_late AND cause <> '{Cause.TWO_PHASE_COMMIT.value}', NULL) AS late",
            f"coalesce({against}, false) AS is_contradicted",
        )
        .selectExpr("*", f"{_CONFIDENCE} AS confidence", f"{accepts} AND {_LACKS_HISTORY_ALONE} AS accepted")
    )


def first_rule() -> str:
    """The number of the rule that decides, from 1 on."""
    return f"CASE{''.join(f' WHEN {rule.when} THEN {number}' for number, rule in enumerate(RULES, 1))} END"


def _missing() -> str:
    """The names of the missing proofs of those that the rule needs, in their order; null where none is missing."""
    by_needs: dict[tuple[Proof, ...], list[str]] = {}
    for number, rule in enumerate(RULES, 1):
        by_needs.setdefault(rule.needs, []).append(str(number))
    groups = (
        f" WHEN rule IN ({', '.join(numbers)}) THEN {_lacking_of(needs)}"
        for needs, numbers in by_needs.items()
        if needs
    )
    return f"CASE{''.join(groups)} END"


def _lacking_of(needs: Iterable[Proof]) -> str:
    missing = ", ".join(f"if(coalesce({proof.name}, false), NULL, '{proof.name}')" for proof in needs)
    return f"nullif(array_compact(array({missing})), CAST(array() AS array<string>))"


def _of_rule(name: str) -> str:
    return f"element_at(array({', '.join(repr(getattr(rule, name).value) for rule in RULES)}), rule)"


def _of_proof(name: str) -> str:
    return f"CASE lacking{''.join(f' WHEN {each.name!r} THEN {getattr(each, name).value!r}' for each in PROOFS)} END"


def _reasons() -> str:
    return f"CASE rule{''.join(f' WHEN {number} THEN {rule.reason}' for number, rule in enumerate(RULES, 1))} END"


def _lacking_reasons() -> str:
    return f"CASE lacking{''.join(f' WHEN {proof.name!r} THEN {proof.lacking}' for proof in PROOFS)} END"


_RESTS_ON_TEXT = "(coalesce(is_text, false) OR coalesce(coordinator_is_text, false))"
# What may be forced is an abort: a coordinator's own transaction may have been committed by now. Older dump-log output
# lacks previous producer ids. And the time of the data must not rest on its producer alone.
_IS_ABORT = f"wanted_cause IN {tuple(sorted(CAUSES_OF_ABORT))}"
_LACKS_HISTORY_ALONE = (
    f"coalesce(lacking = '{HISTORY_IS_WHOLE.name}' AND (also_lacking IS NULL OR NOT is_known) AND {_IS_ABORT}"
    " AND (bounded_by IS NOT NULL OR known_before IS NOT NULL OR NOT is_known)"
    " AND NOT coalesce(coordinator_is_text, false), false)"
)
_IS_STATED = "as_of_source IN ('option', 'manifest')"
# That it was committed is certain only of data that its producer dates before the commit, in this dump or in an
# earlier one, and that no other transaction can have written: none that was aborted, of which the records may be gone,
# and none that began after the coordinator was copied.
_MAY_BE_EARLIER = (
    f"(NOT coalesce({HISTORY_IS_WHOLE.name}, false) AND (NOT committed.is_completed"
    " OR committed.shares_epoch AND NOT coalesce(started_after >= committed.start_timestamp, false)))"
)
_IS_DOUBTFUL = (
    "action = 'KEEP' AND coalesce(kept_with <> 'HIGH', true) AND (NOT commit_is_missing OR NOT is_dated_before_commit"
    f" OR may_precede_commit OR may_be_of_another OR NOT is_seen_by_coordinator OR {_MAY_BE_EARLIER})"
)
# For what discards data the coordinator must have been copied after it by brokers' clocks, not by its producer's.
_IS_DATED_BY_PRODUCER = f"action IN ({', '.join(map(repr, map(str, DISCARDING)))}) AND NOT is_dated_before_coordinator"
# HIGH needs all of: a stated as-of, checkpoints, timestamps that agree with the brokers', no new transaction of the id.
_IS_WHOLE = (
    f"{_IS_STATED} AND high_watermark IS NOT NULL AND timestamps_trusted"
    " AND NOT coalesce(current.state = 'Ongoing', false)"
)
_CONFIDENCE = (
    f"CASE WHEN action = '{Action.UNDETERMINED.value}' THEN '{Confidence.LOW.value}'"
    f" WHEN {_RESTS_ON_TEXT} OR ({_IS_DOUBTFUL}) OR ({_IS_DATED_BY_PRODUCER})"
    f" OR (action = '{Action.ABORT.value}' AND NOT ({_IS_WHOLE}))"
    f" THEN '{Confidence.MEDIUM.value}'"
    f" WHEN {_IS_STATED} THEN '{Confidence.HIGH.value}' ELSE '{Confidence.MEDIUM.value}' END"
)
