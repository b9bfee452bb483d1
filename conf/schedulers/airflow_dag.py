"""Airflow DAGs: `txnlog detect` each night, `txnlog archive` each hour. Only what may pass is tried again."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta

from airflow.exceptions import AirflowException, AirflowFailException
from airflow.sdk import dag, task

CONFIG = "/etc/txnlog/nightly.toml"
BROKERS, CLIENT, TABLES = "kafka-1:9092", "/etc/txnlog/client.properties", "/data/txnlog"
METRICS = "/var/lib/node_exporter/textfile/txnlog.prom"
# An error of txnlog or Spark. 2 to 5 (options or dump, setup, tables, cluster) are for a person.
MAY_PASS = 1


def run(*arguments: str) -> None:
    """Run a command of txnlog; what it prints is in the task's log."""
    code = subprocess.run(["txnlog", *arguments], check=False).returncode
    if code == MAY_PASS:
        raise AirflowException("txnlog or Spark failed: its log is above")
    if code:
        raise AirflowFailException(f"txnlog ended with exit code {code}: its last line says what to do")


@dag(schedule="30 3 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1, tags=["kafka"])  # noqa: DTZ001
def txnlog_nightly() -> None:
    """One task a night. Airflow reads dates without a zone as UTC."""

    @task(retries=2, retry_delay=timedelta(minutes=10), execution_timeout=timedelta(hours=4))
    def detect() -> None:
        run("detect", "--config", CONFIG, "--metrics", METRICS)

    detect()


@dag(schedule="17 * * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1, tags=["kafka"])  # noqa: DTZ001
def txnlog_archive() -> None:
    """Keeps what coordinators say before compaction removes it; how often that has to be: docs/history.md."""

    @task(retries=2, retry_delay=timedelta(minutes=5), execution_timeout=timedelta(minutes=50))
    def archive() -> None:
        run("archive", "--bootstrap-server", BROKERS, "--command-config", CLIENT, "--tables", TABLES)

    archive()


txnlog_nightly()
txnlog_archive()
