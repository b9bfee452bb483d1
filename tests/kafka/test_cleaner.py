"""What Kafka's own `Cleaner` leaves of the coordinators' logs of simulated clusters is what the simulation leaves.

So the simulation judges verdicts on logs that are compacted as Kafka compacts them.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests import writer
from tests.coordinator_writer import coordinator_key
from tests.kafka.judge import NEWEST, judged
from tests.simulation.cluster import Cluster
from tests.simulation.dumps import left
from tests.simulation.events import MINUTE, Record

pytestmark = pytest.mark.kafka
CLUSTERS = 100


def simulated(seeds: range) -> list[list[Record]]:
    """All that the coordinators of these clusters ever write, by their partitions."""
    found = []
    for seed in seeds:
        cluster = Cluster(seed)
        cluster.play(2000 * MINUTE)
        found += [records for records in cluster.coordinators if records]
    return found


def batches(records: list[Record], start: int, dice: random.Random) -> bytes:
    """The records from an offset on, one to three of them in a batch."""
    content = b""
    while records:
        count = dice.randint(1, 3)
        here, records = records[:count], records[count:]
        written = [
            writer.record(
                None if record.state == "tombstone" else b"value", coordinator_key(record.transactional_id), number
            )
            for number, record in enumerate(here)
        ]
        content += writer.batch(start, written)
        start += len(here)
    return content


def test_the_simulation_compacts_as_kafka_does(tmp_path: Path) -> None:
    dice, logs = random.Random(4711), simulated(range(CLUSTERS))
    cleaned_to = [dice.randint(0, len(records)) for records in logs]
    for number, (records, end) in enumerate(zip(logs, cleaned_to, strict=True)):
        for start, segment in ((0, records[:end]), (end, records[end:])):
            writer.segment(tmp_path, f"__transaction_state-{number}", batches(segment, start, dice), start)
    answers = [json.loads(line) for line in judged(NEWEST, "Clean", tmp_path)]
    assert len(answers) == len(logs)
    ways = set()
    for answer in answers:
        records, end = logs[answer["partition"]], cleaned_to[answer["partition"]]
        ours = [offset for offset, _ in left(records, end)]
        # A tombstone that nothing follows stays for a day: in the simulation some of them have gone.
        tombstones = {offset for offset, record in enumerate(records[:end]) if record.state == "tombstone"}
        assert set(answer["left"]) - tombstones == set(ours) - tombstones, answer
        assert set(answer["left_later"]) <= set(ours) <= set(answer["left"]), answer
        ways.add((len(ours) < len(records), answer["left"] == answer["left_later"], ours == answer["left"]))
    # Logs of which nothing was taken, and those with tombstones that stayed and that went, are among them.
    assert ways >= {(False, True, True), (True, True, True), (True, False, True), (True, False, False)}
