"""The errors of txnlog. They have one root; each is one line for a person, and survives pickling."""

from __future__ import annotations


class TxnlogError(Exception):
    """The root of all errors that txnlog raises on purpose. `str()` is one clear line."""

    exit_code = 1


class SetupError(TxnlogError):
    """Java, Python, Spark or a jar is missing or does not fit; says what to install or to set."""

    exit_code = 3


class OptionError(TxnlogError):
    """An option, or a key of a configuration file, that cannot be used."""

    exit_code = 2


class DumpError(TxnlogError):
    """A dump that cannot be read as a whole: not there, not a folder, or of two clusters at once."""

    exit_code = 2


class StoreError(DumpError):
    """A request to an object store that failed for good: no such place, no right to it, no answer."""


class SparkError(TxnlogError):
    """Spark failed in the middle of a job; the log has the rest."""


class TableError(TxnlogError):
    """A Delta table that is not there, not txnlog's, of another schema, or that cannot be written."""

    exit_code = 4


class MissingTableError(TableError):
    """A Delta table that is not there yet."""


class ClusterError(TxnlogError):
    """A running cluster that cannot be reached, or is not the one in the tables."""

    exit_code = 5


class HistoryError(TxnlogError):
    """What is kept of coordinators has a hole, or lacks a partition."""

    exit_code = 6


class FormatError(TxnlogError):
    """Bytes that are not what Kafka writes.

    `position` is the byte, counted from the start of what was parsed, where the trouble was noticed.
    """

    exit_code = 2

    def __init__(self, reason: str, position: int = 0) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position

    def __str__(self) -> str:
        return f"byte {self.position}: {self.reason}"
