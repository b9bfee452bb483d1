"""An Airflow DAG: each night `txnlog detect`; only what another attempt can mend is tried again."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta

from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import dag, task

CONFIG = "/etc/txnlog/nightly.toml"
METRICS = "/var/lib/node_exporter/textfile/txnlog.prom"
# An error of txnlog or Spark. 2 to 5 (options or dump, setup, tables, cluster) are for a person.
MAY_PASS = 1


@dag(schedule="30 3 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1, tags=["kafka"])  # noqa: DTZ001
def txnlog_nightly() -> None:
    """One task a night. Airflow reads dates without a zone as UTC."""

    @task(retries=2, retry_delay=timedelta(minutes=10), execution_timeout=timedelta(hours=4))
    def detect() -> None:
        code = subprocess.run(["txnlog", "detect", "--config", CONFIG, "--metrics", METRICS], check=False).returncode
        if code == MAY_PASS:
            raise AirflowException("txnlog or Spark failed: its log is above")
        if code:
            raise AirflowFailException(f"txnlog ended with exit code {code}: its last line says what to do")

    detect()


txnlog_nightly()
