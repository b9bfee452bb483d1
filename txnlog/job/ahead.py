"""The evidence of a dump that the driver reads itself, in a thread of its own while Spark starts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa

from txnlog.sources.reading import evidence_here

# What reading ahead gives back in the end.
Rows = Future[list[pa.RecordBatch]]


@contextmanager
def reading_ahead(dump: str, full: bool, **options: str | int | None) -> Iterator[Rows]:
    """Read as `txnlog.sources.reading.evidence_here` does, beside whatever else is done meanwhile.

    When it ends nobody wants the rows any more: reading goes on no further than to the end of a log.
    """
    is_over = threading.Event()
    with ThreadPoolExecutor(1, "txnlog-ahead") as beside:
        try:
            yield beside.submit(evidence_here, dump, full, lambda: not is_over.is_set(), **options)
        finally:
            is_over.set()
