"""Run by tests in a process of its own: jobs that can be killed, and commands on a disk that is too small.

Its argument is JSON. `settings` are Spark's. `jobs` are options of jobs that run at once; each says its steps on
stdout, after its number. `commands` run one after the other; each has `arguments` of the command line and
`largest_file`, the bytes that a file of the JVM can have meanwhile: what a full disk looks like to it. Behind each its
exit code is printed, on stdout and stderr.
"""

from __future__ import annotations

import json
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from txnlog import cli
from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.spark.session import session


def run_jobs(spark: SparkSession, jobs: list[dict[str, Any]]) -> None:
    with ThreadPoolExecutor(len(jobs)) as pool:
        list(pool.map(lambda number: run_job(spark, number, jobs[number]), range(len(jobs))))


def run_job(spark: SparkSession, number: int, options: dict[str, Any]) -> None:
    run(spark, detect_options(options), lambda step: print(f"{number} {step}\n", end="", flush=True))
    print(f"{number} done\n", end="", flush=True)


def run_command(spark: SparkSession, arguments: list[str], largest_file: int) -> None:
    limits = (largest_file, resource.RLIM_INFINITY)
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    resource.prlimit(gateway.proc.pid, resource.RLIMIT_FSIZE, limits)
    code = cli.main(arguments)
    for stream in (sys.stdout, sys.stderr):
        print("exit code", code, file=stream, flush=True)


given = json.loads(sys.argv[1])
started = session("txnlog-tests", **given["settings"])
for command in given.get("commands", []):
    run_command(started, **command)
if "jobs" in given:
    run_jobs(started, given["jobs"])
