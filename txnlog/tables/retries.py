"""Writes that are tried again when another job's commit came in between."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from txnlog.spark.spark_errors import SPARK_ERRORS

ATTEMPTS = 8
_CONCURRENT = (
    "DELTA_CONCURRENT",
    "ConcurrentModification",
    "ConcurrentAppend",
    "ConcurrentDelete",
    "MetadataChanged",
)


def with_retries(action: Callable[[], object]) -> None:
    """Run a write again when another job's commit came in between."""
    for attempt in range(ATTEMPTS):
        try:
            action()
            return
        except SPARK_ERRORS as error:
            if attempt == ATTEMPTS - 1 or not any(words in str(error) for words in _CONCURRENT):
                raise
            time.sleep(random.uniform(0.1, 0.5) * 2**attempt)
