"""The remedies that stand in the tables, for those who ask them with SQL alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from txnlog.report.kafka_listing import UNDER_WAY
from txnlog.report.remedy import States, by_id, remedy
from txnlog.report.remedy_list import as_text
from txnlog.spark.materialize import Materialized
from txnlog.times import moment_of


def with_remedies(changes: Materialized, judged: pa.Table) -> Materialized:
    """Rows of `open_transactions` with their `remedy`. `judged` has the detection's rows of the same run."""
    states = _states_under_way(judged)
    rows = changes.rows.to_pylist()
    return changes.with_column("remedy", [as_text(remedy(row, states, tables=None)) for row in rows])


def _states_under_way(judged: pa.Table) -> States:
    """The ids' states as this dump has them: rows as those of `coordinator_states`."""
    rows = judged.select(["cluster", "transactional_id", "current"]).to_pylist()
    return by_id(_state(row) for row in rows if row["current"] and row["current"]["state"] in UNDER_WAY)


def _state(row: dict[str, Any]) -> dict[str, Any]:
    started = row["current"]["start_timestamp"]
    return {**row, **row["current"], "start_timestamp": None if started is None else moment_of(started)}
