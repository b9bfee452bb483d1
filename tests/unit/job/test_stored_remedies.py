"""The remedies that a run writes."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.report_tables import NIGHT, Row, transaction
from txnlog.job.stored_remedies import with_remedies
from txnlog.spark.materialize import local_frame, materialized_together
from txnlog.spark.schema import arrow_schema
from txnlog.spark.session import with_settings
from txnlog.tables.verdict_rows import OpenTransactionRow
from txnlog.times import LATEST_MS, epoch_ms

LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati"])
@pytest.mark.parametrize(
    ("last_activity", "started", "says"),
    [
        (NIGHT, None, "Wait until 2026-11-21T02:20:00.000Z."),
        (NIGHT, epoch_ms(NIGHT), "Wait until 2026-11-21T03:00:00.000Z."),
        # What a producer's clock may say.
        (LAST, None, "Its age is not known."),
        (NIGHT, LATEST_MS, "Its age is not known."),
    ],
)
def test_instants_are_utc_in_any_zone_and_may_be_the_last_of_all(
    last_activity: datetime, started: int | None, says: str, zone: str, spark: SparkSession
) -> None:
    values: Row = {"action": "WAIT", "cause": "TOO_YOUNG", "last_activity": last_activity, "start_timestamp": LAST}
    row = transaction(**values, late_after_ms=1_200_000)
    names = [field.name for field in arrow_schema(OpenTransactionRow)]
    with with_settings(spark, {"spark.sql.session.timeZone": zone}):
        rows = [{name: row.get(name) for name in names}]
        (changes,) = materialized_together(local_frame(spark, rows, arrow_schema(OpenTransactionRow)))
        current = {"state": "Ongoing", "start_timestamp": started, "timeout_ms": 3_600_000, "broker": "1"}
        judged = pa.Table.from_pylist(
            [{name: row[name] for name in ("cluster", "transactional_id")} | {"current": started and current}]
        )
        remedied = with_remedies(changes, judged)
        (text,) = remedied.rows.column("remedy").to_pylist()
        assert says in text
        assert [each["remedy"] for each in remedied.frame.select("remedy").collect()] == [text]
