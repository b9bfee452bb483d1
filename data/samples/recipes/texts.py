"""Make the texts of tests/texts: `python data/samples/recipes/texts.py`, or some releases: `... texts.py 2.8.2 4.3.0`.

Each release prints with its own `kafka-dump-log`: a segment that its own `MemoryRecords` wrote, a segment of
`__transaction_state` of the sample kafka-3.5.2 (which all of them can read), a producer snapshot, a transaction index.
"""

import argparse
import logging
import shutil
import subprocess
import tempfile
from pathlib import Path

from programs import LEFT_OUT, LOGGING, REPOSITORY, jars, java_executable

from txnlog.spark import ivy
from txnlog.spark.ivy import Artifact

LOG = logging.getLogger("texts")
TEXTS = REPOSITORY / "tests" / "texts"
SAMPLES = REPOSITORY / "data" / "samples"
# The Scala that each release's jar is made for.
RELEASES = {
    "0.11.0.3": "2.11",
    "1.1.1": "2.12",
    "2.0.1": "2.12",
    "2.1.1": "2.12",
    "2.2.2": "2.12",
    "2.4.1": "2.13",
    "2.8.2": "2.13",
    "3.0.2": "2.13",
    "3.1.2": "2.13",
    "3.2.3": "2.13",
    "3.4.1": "2.13",
    "3.5.2": "2.13",
    "3.9.1": "2.13",
    "4.0.0": "2.13",
    "4.1.1": "2.13",
    "4.3.0": "2.13",
    "4.4.0": "2.13",
}
WITH_ZSTD = (2, 1)
WITH_COMPRESSION_CLASS = (3, 8)
WITH_INTERNAL_RECORDS = (4, 2)
WITH_TOOLS_CLASS = (4, 2)
COORDINATOR = SAMPLES / "kafka-3.5.2" / "broker-1" / "__transaction_state-10" / "00000000000000000000.log"
WITHOUT_BATCHES = SAMPLES / "kafka-3.5.2" / "broker-2" / "fenced-0" / "00000000000000000002.snapshot"
SNAPSHOT = SAMPLES / "kafka-4.3.0-stopped" / "broker-1" / "expired-0" / "00000000000000000003.snapshot"
INDEX = SAMPLES / "kafka-3.5.2-torn" / "broker-1" / "orders-0" / "00000000000000000000.txnindex"
FILES = {
    "orders-0/00000000000000000000.log": None,
    "__transaction_state-10/00000000000000000000.log": COORDINATOR,
    "expired-0/00000000000000000003.snapshot": SNAPSHOT,
    "fenced-0/00000000000000000002.snapshot": WITHOUT_BATCHES,
    "orders-1/00000000000000000000.txnindex": INDEX,
}
SEGMENT, COORDINATORS, *ENTRIES = FILES
TEXTS_OF = {
    "shallow": ((), (SEGMENT,)),
    "deep": (("--deep-iteration",), (SEGMENT,)),
    "payloads": (("--deep-iteration", "--print-data-log"), (SEGMENT,)),
    "coordinator": (("--deep-iteration", "--transaction-log-decoder"), (COORDINATORS,)),
    "entries": ((), tuple(ENTRIES)),
}


def version(release: str) -> tuple[int, int]:
    """Major and minor number."""
    major, minor, *_ = release.split(".")
    return int(major), int(minor)


def release_jars(release: str) -> Path:
    """The folder with the jars of a release, fetched on the first call."""
    if release in ("3.5.2", "4.3.0", "4.4.0"):
        return jars(release)
    folder = REPOSITORY / "build" / "kafka" / release / "libs"
    if not folder.is_dir():
        kafka = [Artifact("org.apache.kafka", f"kafka_{RELEASES[release]}", release)]
        tools = [Artifact("org.apache.kafka", "kafka-tools", release)] if version(release) >= (2, 6) else []
        logging_of = LOGGING if version(release) >= (1, 0) else LOGGING[1:]
        fetched = folder.with_name("libs-fetched")
        ivy.fetch([*kafka, *tools, *logging_of], fetched, transitive=True, excluded=LEFT_OUT)
        fetched.rename(folder)
    return folder


def java(release: str, *arguments: str | Path, folder: Path) -> str:
    """What a program of the release prints, its standard error in between as on a terminal; it may fail."""
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    command = [str(java_executable()), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", quiet]
    command += ["-cp", f"{release_jars(release)}/*", *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True
    ).stdout


def dump_log(release: str, options: tuple[str, ...], files: tuple[str, ...], folder: Path) -> str:
    """What `kafka-dump-log` prints of some files, named relative to the folder."""
    package = "org.apache.kafka.tools" if version(release) >= WITH_TOOLS_CLASS else "kafka.tools"
    return java(release, f"{package}.DumpLogSegments", *options, "--files", ",".join(files), folder=folder)


def write_segment(release: str, path: Path, scratch: Path) -> None:
    """Write the segment with the release's own classes."""
    source = Path(__file__).with_name("Segments.java").read_text()
    codecs = ["NONE", "GZIP", "SNAPPY", "LZ4"] + (["ZSTD"] if version(release) >= WITH_ZSTD else [])
    if version(release) >= WITH_COMPRESSION_CLASS:
        kind, of = "org.apache.kafka.common.compress.Compression", "Compression"
        made = ["Compression.NONE"] + [f"Compression.{codec.lower()}().build()" for codec in codecs[1:]]
    else:
        kind, of = "org.apache.kafka.common.record.CompressionType", "CompressionType"
        made = [f"CompressionType.{codec}" for codec in codecs]
    source = source.replace("COMPRESSION_CLASS", kind).replace("COMPRESSION_TYPE", of)
    source = source.replace("COMPRESSIONS", ", ".join(made))
    if version(release) >= WITH_INTERNAL_RECORDS:
        source = source.replace("common.record.", "common.record.internal.")
        source = source.replace("record.internal.TimestampType", "record.TimestampType")
    program = scratch / "Segments.java"
    program.write_text(source)
    said = java(release, program, path, folder=scratch)
    if not path.is_file() or not path.stat().st_size:
        raise RuntimeError(f"{release}: {said}")


def make(release: str) -> None:
    """Print all texts of one release."""
    LOG.info("%s", release)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for file, source in FILES.items():
            path = scratch / "logs" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            if source is None:
                write_segment(release, path, scratch)
            else:
                shutil.copy(source, path)
        target = TEXTS / release
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        shutil.copy(scratch / "logs" / SEGMENT, target / "segment")
        for text, (options, files) in TEXTS_OF.items():
            (target / f"{text}.txt").write_text(dump_log(release, options, files, scratch / "logs"))


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", choices=[*RELEASES, []], default=[])
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    for release in parser.parse_args().releases or RELEASES:
        make(release)


if __name__ == "__main__":
    main()
