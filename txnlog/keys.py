"""The columns that say which log a row is of, the same in every frame and table."""

from __future__ import annotations

PARTITION = ("cluster", "topic", "partition")
# A log directory of the dump, and the copy of a partition in it.
LOG_DIR = ("cluster", "broker", "log_dir")
COPY = (*LOG_DIR, "topic", "partition")
# A transaction in a partition. It has no id of its own: `kafka-transactions.sh abort` takes these, too.
TRANSACTION = (*PARTITION, "producer_id", "start_offset")
