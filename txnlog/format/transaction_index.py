"""`.txnindex`: the aborted transactions whose marker lies in that segment (`TransactionIndex`, `AbortedTxn`)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from txnlog.errors import FormatError
from txnlog.format.structure import INT16, INT64, numpy_dtype


class AbortedTransaction(NamedTuple):
    """One entry, 34 bytes."""

    version: Annotated[int, INT16, "Version of the entry: 0."]
    producer_id: Annotated[int, INT64, "Producer id."]
    first_offset: Annotated[int, INT64, "Where the aborted transaction starts."]
    last_offset: Annotated[int, INT64, "Offset of its ABORT marker."]
    last_stable_offset: Annotated[int, INT64, "Last stable offset once it had ended."]


_ENTRY = numpy_dtype(AbortedTransaction)


def aborted_transactions(content: bytes | memoryview) -> npt.NDArray[np.void]:
    """The entries (n, dtype of `AbortedTransaction`) of a transaction index. `FormatError` unless all is right."""
    if len(content) % _ENTRY.itemsize:
        place = len(content) - len(content) % _ENTRY.itemsize
        raise FormatError("a transaction index ends in the middle of an entry", place)
    entries = np.frombuffer(content, _ENTRY)
    wrong = np.flatnonzero((entries["version"] < 0) | (entries["last_offset"] < entries["first_offset"]))
    if len(wrong):
        raise FormatError("an entry of a transaction index is not one", int(wrong[0]) * _ENTRY.itemsize)
    return entries
