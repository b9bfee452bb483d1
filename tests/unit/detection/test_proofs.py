"""The grid of rules and proofs: whatever a rule needs and does not have, nothing is discarded."""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.detection_cases import Found
from tests.unit.detection.test_attacks import CASES as ATTACKS
from tests.unit.detection.test_causes import CASES as CAUSES
from tests.unit.detection.test_dangers import CASES as DANGERS
from tests.unit.detection.test_texts import CASES as TEXTS
from txnlog.config import Thresholds
from txnlog.detection.causes import DISCARDING, Action
from txnlog.detection.coordinator_proofs import ALL_COORDINATORS
from txnlog.detection.proofs import IMPLIED, OF_AGE, PROOFS
from txnlog.detection.rules import RULES
from txnlog.detection.verdicts import first_rule, with_verdicts

CASES = [*ATTACKS, *CAUSES, *DANGERS, *TEXTS]
JUDGED = ("cause", "action", "reason", "lacking", "also_lacking", "wanted_cause", "late", "confidence", "accepted")


def test_each_rule_is_reached_by_a_case_with_all_its_proofs(found: Found) -> None:
    decided = found.detection.transactions.where("lacking IS NULL").selectExpr(f"{first_rule()} AS rule")
    reached = {row["rule"] for row in decided.distinct().collect()}
    # The last one decides nothing, and lacks a proof whenever it is reached.
    assert reached == set(range(1, len(RULES)))


def test_each_discarding_rule_needs_proofs() -> None:
    assert all(rule.needs for rule in RULES if rule.action in DISCARDING)


def test_the_last_rule_decides_nothing() -> None:
    assert (RULES[-1].when, RULES[-1].action) == ("true", Action.UNDETERMINED)


def test_each_proof_has_words_for_people_and_is_needed_by_a_rule() -> None:
    needed = {proof for rule in RULES for proof in rule.needs}
    assert needed == set(PROOFS)
    assert all(proof.meaning and proof.rests_on and proof.supplied_by for proof in PROOFS)


def test_where_one_proof_is_missing_those_that_it_implies_are_too(found: Found) -> None:
    missing = [{*_missing(row)} for rows in found.rows.values() for row in rows]
    for first, second in IMPLIED:
        assert any(first.name in each for each in missing)
        assert all(second.name in each for each in missing if first.name in each)


def test_of_coordinators_that_are_not_in_the_dump_only_their_absence_is_said(found: Found) -> None:
    [row] = found.rows["coordinators: none is in the dump"]
    of_all = {proof.name for proof in OF_AGE if proof.name.startswith(("all_coordinators", "no_coordinator"))}
    assert of_all.intersection(_missing(row)) == {ALL_COORDINATORS.name}


def _missing(row: dict[str, Any]) -> list[str]:
    return [name for name in (row["lacking"], *(row["also_lacking"] or ())) if name]


def test_without_one_of_its_proofs_nothing_is_discarded(found: Found) -> None:
    """For each rule that discards data and each of its proofs: that proof disproved, and not proved."""
    judged = found.detection.transactions.where(F.col("action").isin(*DISCARDING)).drop(*JUDGED)
    without = (_without(judged, name, value) for name in _names() for value in ("false", "null"))
    broken = reduce(DataFrame.unionByName, without)
    rows = broken.transform(with_verdicts, Thresholds()).select("broken", "wanted_cause", "cause", "action").collect()
    assert len(rows) == 2 * len(_names()) * judged.count()
    needs = {(rule.cause.value, proof.name) for rule in RULES for proof in rule.needs if rule.action in DISCARDING}
    seen = {(row["wanted_cause"], row["broken"]) for row in rows if row["action"] == "UNDETERMINED"}
    assert needs <= seen
    assert not [row for row in rows if row["action"] in DISCARDING and (row["cause"], row["broken"]) in needs]


def _names() -> list[str]:
    return [proof.name for proof in PROOFS]


def _without(judged: DataFrame, name: str, value: str) -> DataFrame:
    marked = judged.withColumn("broken", F.lit(name))
    return marked.withColumn(name, F.expr(f"cast({value} AS boolean)"))
