"""Kafka's programs: the jars of a release, and the command lines that start them."""

import os
from functools import cache
from pathlib import Path

from txnlog.spark import ivy
from txnlog.spark.ivy import Artifact, Excluded
from txnlog.spark.java import java

RECIPES_FOLDER = Path(__file__).resolve().parent
REPOSITORY = RECIPES_FOLDER.parents[2]
TRANSACTIONS_COMMAND = "org.apache.kafka.tools.TransactionsCommand"
# Most of a tool's time is its start, which the second compiler only makes longer.
JAVA_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    # A marker that its partition refuses is sent again without a pause: an error each time, 100 MB in minutes.
    "-Dorg.slf4j.simpleLogger.log.kafka.server.ReplicaManager=off",
)
LOGGING = (
    Artifact("org.slf4j", "slf4j-simple", "1.7.36"),
    Artifact("ch.qos.reload4j", "reload4j", "1.2.25"),  # brokers before 4.0 call log4j itself besides slf4j
)
LEFT_OUT = (
    # One slf4j binding only, or which one is taken depends on the order of the class path.
    Excluded("org.slf4j", "slf4j-reload4j"),
    # Only a tool for Kafka Connect needs it, and it brings half of all jars.
    Excluded("org.apache.kafka", "connect-runtime"),
)


def jars(release: str) -> Path:
    """The folder with the release's jars, fetched on the first call."""
    folder = REPOSITORY / "build" / "kafka" / release / "libs"
    if not folder.is_dir():
        fetched = folder.with_name(f"libs-{os.getpid()}")
        kafka = [Artifact("org.apache.kafka", name, release) for name in ("kafka_2.13", "kafka-tools")]
        ivy.fetch([*kafka, *LOGGING], fetched, transitive=True, excluded=LEFT_OUT)
        fetched.rename(folder)
    return folder


@cache
def java_executable() -> Path:
    """The Java that Spark uses, too."""
    return java().executable


def java_command(release: str, main_class: str, *arguments: str, heap: str = "256m") -> list[str]:
    """Command line of one of the release's programs."""
    options = [f"-Xmx{heap}", *JAVA_OPTIONS]
    return [str(java_executable()), *options, "-cp", f"{jars(release)}/*", main_class, *arguments]
