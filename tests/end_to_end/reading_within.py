"""Reads a dump under a memory limit: `python -m tests.end_to_end.reading_within DUMP MIB`; prints what it found."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from tests.damaged_dumps import rows_of
from txnlog.dump.inventory import inventory


def address_space() -> int:
    """The bytes that this process has mapped by now, Python and its libraries."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def main(dump: str, mebibytes: str) -> None:
    """One JSON object: rows of each file by frame, and the problems that they tell."""
    warm_up(dump)
    limit = address_space() + (int(mebibytes) << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    found = {}
    for file in inventory(Path(dump)).files:
        rows = rows_of(file)
        found[file.file] = {
            "rows": {frame: sum(batch.num_rows for batch in batches) for frame, batches in rows.items()},
            "problems": [row["problem"] for frame in rows.values() for batch in frame for row in batch.to_pylist()
                         if row.get("problem")],
        }  # fmt: skip
    print(json.dumps(found))


def warm_up(dump: str) -> None:
    """Libraries map memory of their own when they are first used."""
    for file in inventory(Path(dump)).files:
        if file.file.startswith("warm-up/"):
            rows_of(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
