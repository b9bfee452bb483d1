"""What a verdict that discards data rests on: each proof is a named column, true, false, or null where not proved.

An action whose proofs are not all true is not taken: the first proof that is lacking names the cause, says what is
missing and what would supply it. Null never lets a row by: only `true` counts.
"""

from __future__ import annotations

from typing import NamedTuple

from txnlog.detection.causes import Cause


class Proof(NamedTuple):
    """One thing that must be so. `holds` is a condition and `lacking` a text, both Spark SQL; `cause` if it lacks.

    `rests_on` names the KIP or Kafka's class that makes it a proof, `supplied_by` what an operator can add.
    """

    name: str
    holds: str
    meaning: str
    rests_on: str
    supplied_by: str
    cause: Cause
    lacking: str
