"""No damage to a dump makes a verdict stronger: bits and lengths of small real files, one after the other, and worse.

Each damaged version is read by the job's readers and judged beside the whole dump, many thousand in one evaluation.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from itertools import islice, pairwise, permutations
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.damaged_dumps import Judged, Row, Version, Versions, judged
from tests.walk import batches as batches_at
from tests.walk import pieces
from tests.writer import checkpoint, put
from txnlog.format.checkpoint import offset_checkpoints

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
DAMAGE = os.environ.get("TXNLOG_DAMAGE", "few")
# Of bits and lengths it is every so many: in the files that an excerpt damages closely, and in all others.
CLOSELY, ELSEWHERE = (1, 7) if DAMAGE == "all" else (53, 307)
# And of all versions every so many.
EVERY = 5 if DAMAGE == "few" else 1
# What changes a cluster if an operator does as the row says.
STRONG = ("ABORT", "FENCE", "MOVE_COORDINATOR")


class Excerpt(NamedTuple):
    """Some partitions of a sample, as `broker/partition`, what is to be found, and which files are damaged closely."""

    sample: str
    partitions: tuple[str, ...]
    causes: tuple[str, ...]
    closely: tuple[str, ...] = ()


EXCERPTS = {
    "snapshots": Excerpt(
        "kafka-4.3.0-stopped",
        ("broker-1/expired-0", "broker-1/spanning-1", "broker-1/__transaction_state-3"),
        ("ID_EXPIRED", "NEVER_ADDED"),
        ("expired-0/", "__transaction_state-3/", "spanning-1/00000000000000000003.snapshot"),
    ),
    "late write": Excerpt(
        "kafka-3.5.2",
        ("broker-1/late-write-0", "broker-1/__transaction_state-11"),
        ("LATE_WRITE_AFTER_END",),
    ),
    "lost markers": Excerpt(
        "kafka-3.5.2",
        (
            "broker-2/lost-commit-0",
            "broker-2/lost-abort-0",
            "broker-1/__transaction_state-22",
            "broker-1/__transaction_state-17",
        ),
        ("MARKER_LOST_ABORT", "MARKER_LOST_COMMIT"),
    ),
}


def excerpt_of(excerpt: Excerpt, root: Path) -> Path:
    """The partitions in one log directory, with the high watermarks that their brokers had written down."""
    sample, log_dir = SAMPLES / excerpt.sample, root / "broker-1"
    lines = []
    for place in excerpt.partitions:
        broker, partition = place.split("/")
        shutil.copytree(sample / place, log_dir / partition)
        known = offset_checkpoints((sample / broker / "replication-offset-checkpoint").read_text())
        lines += [line for line in known if f"{line[0]}-{line[1]}" == partition]
    put(log_dir / "replication-offset-checkpoint", checkpoint(lines))
    shutil.copy(sample / "broker-1" / "meta.properties", log_dir)
    shutil.copy(sample / "dump.toml", root)
    return root


def damaged(name: str, content: bytes, other: bytes) -> Iterator[tuple[str, bytes | None]]:
    """Worse than a bit: tails, lies in headers, holes, and content that belongs elsewhere."""
    seeded = random.Random(content)
    yield "missing", None
    yield "empty", b""
    yield "other", other
    yield "twice", content + content
    for size in (1, 61, 78, 4096):
        yield f"zero tail {size}", content + bytes(size)
        yield f"random tail {size}", content + seeded.randbytes(size)
        yield f"random {size}", seeded.randbytes(size)
    for number in range(15):
        start = seeded.randrange(max(len(content), 1))
        end = min(start + seeded.choice((1, 8, 61, 200)), len(content))
        yield f"zeros {number}", content[:start] + bytes(end - start) + content[end:]
        yield f"noise {number}", content[:start] + seeded.randbytes(end - start) + content[end:]
        yield f"hole {number}", content[:start] + content[end:]
    if name.endswith(".log") and content:
        yield from _of_batches(content)


def _of_batches(content: bytes) -> Iterator[tuple[str, bytes]]:
    starts = [*batches_at(pieces(content)), len(content)]
    frames = [content[start:end] for start, end in pairwise(starts)]
    for index, frame in enumerate(frames):
        before, after = b"".join(frames[:index]), b"".join(frames[index + 1 :])
        yield f"without batch {index}", before + after
        yield f"batch {index} twice", before + frame + frame + after
        for length in (-1, 0, 48, 49, len(frame), 2**16, 2**31 - 1):
            yield (
                f"batch {index} claims {length}",
                before + frame[:8] + length.to_bytes(4, "big", signed=True) + frame[12:] + after,
            )
        for other in range(index):
            swapped = list(frames)
            swapped[index], swapped[other] = swapped[other], swapped[index]
            yield f"batches {other} and {index} swapped", b"".join(swapped)


def versions(whole: Versions, excerpt: Excerpt) -> Iterator[Version]:
    """All damaged versions of an excerpt."""
    for name in sorted(whole.files):
        if name == "dump.toml":
            continue
        content = whole.content(name)
        others = [each for each in whole.files if Path(each).name == Path(name).name and each != name]
        other = whole.content(others[0]) if others else b""
        for what, broken in damaged(name, content, other):
            yield Version(f"{name}: {what}", {name: broken})
        step = CLOSELY if any(one in name for one in excerpt.closely) else ELSEWHERE
        for bit in range(0, 8 * len(content), step):
            flipped = bytearray(content)
            flipped[bit // 8] ^= 1 << bit % 8
            yield Version(f"{name}: bit {bit}", {name: bytes(flipped)})
        for size in range(0, len(content), step):
            yield Version(f"{name}: cut at {size}", {name: content[:size]})
    yield from of_other_files(whole)


def of_other_files(whole: Versions) -> Iterator[Version]:
    """Segments and snapshots of one partition in each other's place: swapped, or one of them twice."""
    names = [name for name in sorted(whole.files) if name.endswith((".log", ".snapshot"))]
    for one, other in permutations(names, 2):
        if Path(one).parent == Path(other).parent and Path(one).suffix == Path(other).suffix:
            yield Version(f"{one}: has the content of {other}", {one: whole.content(other)})
            if one < other:
                swapped = {one: whole.content(other), other: whole.content(one)}
                yield Version(f"{one}: swapped with {other}", swapped)


def strong(verdicts: list[Row]) -> set[tuple[object, ...]]:
    names = ("topic", "partition", "producer_id", "start_offset", "action")
    return {tuple(row[name] for name in names) for row in verdicts if row["action"] in STRONG}


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    dumps = []
    for name, excerpt in EXCERPTS.items():
        folder = tmp_path_factory.mktemp("damage")
        dumps.append(Versions(name, excerpt_of(excerpt, folder / "dump"), folder / "damaged"))
        for version in islice(versions(dumps[-1], excerpt), 0, None, EVERY):
            dumps[-1].add(version)
    print(f"{sum(each.count for each in dumps)} damaged versions, {sum(len(each.names) for each in dumps)} readings")
    return judged(spark, dumps)


@pytest.mark.parametrize("name", EXCERPTS)
def test_without_damage_each_excerpt_has_its_verdicts(found: Judged, name: str) -> None:
    assert sorted(row["cause"] for row in found.verdicts[name]) == sorted(EXCERPTS[name].causes)


@pytest.mark.parametrize("name", EXCERPTS)
def test_no_damage_makes_a_verdict_stronger(found: Judged, name: str) -> None:
    proven = strong(found.verdicts[name])
    of_excerpt = {version: rows for version, rows in found.verdicts.items() if version.startswith(f"{name}, ")}
    stronger = {version: strong(rows) - proven for version, rows in of_excerpt.items()}
    named = [f"{version}: {sorted(more, key=str)}" for version, more in stronger.items() if more]
    assert not named, f"{len(named)} of {len(stronger)}\n" + "\n".join(named[:40])


def test_every_byte_of_every_damaged_file_is_accounted_for(found: Judged) -> None:
    parts = ("bytes_parsed", "bytes_tail", "bytes_damaged", "bytes_skipped")
    for name, files in found.files.items():
        for row in files:
            assert sum(row[part] for part in parts) == row["size_in_bytes"], f"{name}: {row}"


def test_damage_is_named(found: Judged) -> None:
    for name, files in found.files.items():
        for row in files:
            assert row["bytes_damaged"] == 0 or row["problem"], f"{name}: {row}"
    assert sum(any(row["bytes_damaged"] for row in files) for files in found.files.values()) > 200
