"""The Spark session: the platform's where there is a platform, one on this machine otherwise."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from txnlog.errors import SetupError
from txnlog.spark.interrupts import heeded_afterwards
from txnlog.spark.jars import delta_jars
from txnlog.spark.java import java
from txnlog.spark.platform import check_delta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Setting = str | int | bool
CONF = Path(__file__).parent / "conf"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
CLASS_PATH = "spark.driver.extraClassPath"
# A local session's own mark.
IS_SMALL = "spark.txnlog.small"
# If one of these is set, whoever started this process provides Spark and its settings.
PLATFORMS = (
    "PYSPARK_GATEWAY_PORT",  # set by spark-submit
    "SPARK_REMOTE",  # Spark Connect, by address
    "SPARK_CONNECT_MODE_ENABLED",  # and once a session is there
    "DATABRICKS_RUNTIME_VERSION",
    "PYSPARK_SUBMIT_ARGS",  # spark-submit's options for a Spark that Python starts
)
# conf/spark-defaults.conf of the repository has the ones that a platform wants, too.
LOCAL: Mapping[str, Setting] = {
    "spark.master": "local[*]",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Instants are UTC, wherever the person who looks at them is.
    "spark.sql.session.timeZone": "UTC",
    # Spark's own, INT96, counts nanoseconds: other readers of the tables turn the year 2300 into 1715.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Of the archive of coordinators' records it leaves little more than half of what snappy, Spark's own, does.
    "spark.sql.parquet.compression.codec": "zstd",
    # In-memory: no Hive metastore, so no Derby database in the working directory.
    "spark.sql.catalogImplementation": "in-memory",
    # Both are sized for clusters (200 and 50): with them a table of five rows takes 16 s to read.
    "spark.sql.shuffle.partitions": 8,
    "spark.databricks.delta.snapshotPartitions": 2,
    # VACUUM lists a table's folder in so many tasks; the default, 10000, takes minutes for a table of five files.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": 8,
    # OPTIMIZE leaves files of this size as they are. By default it would write a gigabyte anew each time, and put many
    # runs into one file, which is then read for any of them.
    "spark.databricks.delta.optimize.minFileSize": 16 << 20,
    "spark.databricks.delta.optimize.maxFileSize": 64 << 20,
    "spark.sql.adaptive.enabled": True,
    # Results pass through the driver. This rule would compute on them while planning: row by row, uncompiled, and
    # again in every plan that uses them. With twenty thousand open transactions that takes minutes.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
    "spark.ui.enabled": False,
    # The progress bar writes carriage returns into captured output.
    "spark.ui.showConsoleProgress": False,
    # Nothing outside this machine talks to it, and to look up its name can take seconds without a network.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # In local mode the driver is the executor, too; Spark's default is 1g.
    "spark.driver.memory": "2g",
    # A hash table takes at least one page, and so does each small one that is sent to all tasks; by default a page is a
    # share of the heap, here 16 MiB. The queries of one run then keep 800 MiB, with this 250.
    "spark.buffer.pageSize": "2m",
}

# How queries over few rows are planned, where planning is what takes the time: to plan anew after each stage and to
# compile each plan takes longer than to run it.
SMALL_PLANS: Mapping[str, Setting] = {
    "spark.sql.adaptive.enabled": False,
    "spark.sql.shuffle.partitions": 1,
    "spark.databricks.delta.snapshotPartitions": 1,
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": 1,
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # To send few rows to all tasks takes a query of its own.
    "spark.sql.autoBroadcastJoinThreshold": -1,
    # Of each query Spark writes a description, which only its UI shows.
    "spark.sql.ui.explainMode": "simple",
    # For each column Spark would look where in our code it comes from, and PySpark would tell it.
    "spark.sql.dataFrameQueryContext.enabled": False,
    "spark.python.sql.dataFrameDebugging.enabled": False,
    # Into the checksum of each commit Delta would write the table's files, which are in the commits, too: of a new
    # table it would look for them by a query, though there are none.
    "spark.databricks.delta.allFilesInCrc.enabled": False,
}

# What of this a step with many rows has otherwise, in a session for few.
PLANS_FOR_MANY: Mapping[str, Setting] = {
    "spark.sql.shuffle.partitions": LOCAL["spark.sql.shuffle.partitions"],
    "spark.sql.codegen.wholeStage": True,
    "spark.sql.codegen.factoryMode": "FALLBACK",
}

# A session for few rows: what Java's second compiler makes faster does not run often enough to pay. With one compiler
# Java keeps 48 MiB for what it compiles: many plans fill them, and nothing is compiled any more.
SMALL: Mapping[str, Setting] = {
    IS_SMALL: True,
    **SMALL_PLANS,
    # The heap starts large, as to let it grow takes collections of all of it.
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseParallelGC"
    " -Xms1200m -XX:MetaspaceSize=300m",
}


def session(app_name: str = "txnlog", *, is_small: bool = False, **settings: Setting) -> SparkSession:
    """The active session if there is one; else the platform's; else a local one with Delta.

    `is_small`: few rows reach it; a local one then has the settings of `SMALL`.

    `settings` are Spark's own (`**{"spark.sql.shuffle.partitions": 2}`), and win over the local ones; they
    do not change an active session. Raises SetupError if Java, pyspark or a jar is missing, or Spark fails.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise SetupError(f"{missing}: pip install 'txnlog[spark]'") from missing

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if _has_platform(settings):
        spark = _start(app_name, settings)
        check_delta(spark)
        return spark
    with _environment(_local_environment()), heeded_afterwards():
        return _start(app_name, _local_settings({**(SMALL if is_small else {}), **settings}))


def running_session() -> SparkSession | None:
    """The active session, or the platform's; None where only a new local one could be started.

    Raises SetupError as `session` does.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    return session() if SparkSession.getActiveSession() is not None or _has_platform({}) else None


def is_small(spark: SparkSession) -> bool:
    """Whether it is a session of our own for few rows (`SMALL`)."""
    return spark.conf.get(IS_SMALL, "false") == "true"


@contextmanager
def for_many_rows(spark: SparkSession) -> Iterator[None]:
    """Compiled plans and several partitions meanwhile, if it is a session of our own for few rows."""
    with with_settings(spark, PLANS_FOR_MANY if is_small(spark) else {}):
        yield


@contextmanager
def with_settings(spark: SparkSession, settings: Mapping[str, Setting]) -> Iterator[None]:
    """Other settings of a session meanwhile."""
    before: dict[str, Any] = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def _has_platform(settings: Mapping[str, Setting]) -> bool:
    master = str(settings.get("spark.master", "local"))
    return not master.startswith("local") or "spark.remote" in settings or any(p in os.environ for p in PLATFORMS)


def _start(app_name: str, settings: Mapping[str, Setting]) -> SparkSession:
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as trouble:
        if trouble.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise SetupError("Spark did not start: what it said is above") from trouble


def _local_settings(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    java()  # refuses one that is too old in a line; Spark would in a page
    scratch = tempfile.mkdtemp(prefix="txnlog-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    merged = {**LOCAL, "spark.sql.warehouse.dir": f"{scratch}/warehouse", **settings}
    if "delta-spark" not in str(settings.get("spark.jars.packages", "")):
        # Not in `spark.jars`: so nothing is copied.
        paths = [*map(str, delta_jars()), str(settings.get(CLASS_PATH, ""))]
        merged[CLASS_PATH] = os.pathsep.join(filter(None, paths))
    merged[JAVA_OPTIONS] = " ".join([*_java_options(), str(settings.get(JAVA_OPTIONS, ""))]).strip()
    return merged


def _java_options() -> list[str]:
    # The JVM's own warnings go to stdout unless told otherwise, and stdout is for results.
    options = ["-Xlog:disable", "-Xlog:all=error:stderr"]
    # Whoever names a folder of settings (SPARK_CONF_DIR=conf: logs as JSON) has log settings in it.
    if "SPARK_CONF_DIR" not in os.environ:
        options.append(f'"-Dlog4j2.configurationFile={CONF / "log4j2.properties"}"')
    return options


def _local_environment() -> dict[str, str]:
    """What Spark takes from the environment only; what is set there already stays."""
    wanted = {
        # Without it, workers of a virtual environment that is not activated are the system's Python.
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return {name: value for name, value in wanted.items() if name not in os.environ}


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """The variables for the JVM that starts meanwhile: this process's other children do not get them."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
