"""Run by a test in a process of its own: reads a segment of an object store; prints what it found and took."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.opener import opened_segment
from txnlog.sources.segments import Level, segment_batches

file = DumpFile(sys.argv[1], "orders-0/0.log", ".", FileKind.SEGMENT, 0, 0, "c", "1", "orders", 0, 0)
with opened_segment(file.path) as segment:
    rows = sum(batch.num_rows for batch in segment_batches(file, segment, Level.ALL))
# What getrusage says begins with the parent's.
peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps({"rows": rows, "peak": int(peak[1]) << 10 if peak else None}))
