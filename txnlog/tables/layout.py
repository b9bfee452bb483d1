"""Where the Delta tables are, and how they are created."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from txnlog.errors import MissingTableError, TableError
from txnlog.format.structure import Field, fields
from txnlog.keys import PARTITION, TRANSACTION
from txnlog.tables.archive_rows import CoordinatorRangeRow, CoordinatorRecordRow, TransactionRow
from txnlog.tables.consumer_rows import BlockedGroupRow, GroupPositionRow
from txnlog.tables.partition_rows import FindingRow, PartitionTransactionTableRow
from txnlog.tables.run_rows import DumpFileTableRow, RunRow
from txnlog.tables.state_rows import CoordinatorStateRow, ProducerStateRow, TransactionalIdRow
from txnlog.tables.verdict_rows import AbortCandidateRow, OpenTransactionRow, VerificationRow

CATALOG_AND_SCHEMA = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")
# Spark SQL replaces such variables even within a quoted name.
VARIABLE = "${"
# What delta-rs refuses in a path, or takes for another one.
UNREADABLE = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]|%[0-9A-Fa-f]{2}")
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://?.*", re.DOTALL)


# What comes before a check's name in the properties of a table.
CHECK = "delta.constraints."
# What delta-rs reads and appends to.
PROPERTIES = {"delta.enableDeletionVectors": "false", "delta.checkpointPolicy": "classic"}
# Each of a table's files has rows of most partitions and times: Delta takes long to find what its columns range over,
# and nobody skips a file by it.
NOT_INDEXED = {"delta.dataSkippingNumIndexedCols": "0"}


class Table(NamedTuple):
    """A Delta table: what its rows are, what identifies one, and what must hold for each."""

    name: str
    row: type
    key: tuple[str, ...]
    checks: dict[str, str]
    comment: str
    properties: Mapping[str, str] = PROPERTIES


# Which rules judged an abort candidate. Those of generation 2 asked for a proof of each thing that an abort rests on;
# what they took for one and is none is in the changelog.
RULES_GENERATION = 6
_CAUSE_FITS_ACTION = "cause <> 'MARKER_LOST_COMMIT' OR action <> 'ABORT'"

ABORT_CANDIDATES = Table(
    "abort_candidates",
    AbortCandidateRow,
    TRANSACTION,
    {
        "only_aborts": "action = 'ABORT' AND cause <> 'MARKER_LOST_COMMIT'",
        "known_status": "status IN ('OPEN', 'RESOLVED') AND (status = 'OPEN') = (resolved_at IS NULL)",
    },
    "Hanging transactions to abort. txnlog itself never aborts anything.",
)
OPEN_TRANSACTIONS = Table(
    "open_transactions",
    OpenTransactionRow,
    (*TRANSACTION, "as_of"),
    {
        "committed_data_is_never_aborted": _CAUSE_FITS_ACTION,
        "accepted_is_undetermined": "NOT coalesce(accepted, false) OR action = 'UNDETERMINED'",
    },
    "Every open transaction of every dump, with its verdict.",
)
RUNS = Table("runs", RunRow, ("run_id", "cluster"), {}, "Runs of txnlog over a cluster, with their results.")
TRANSACTIONAL_IDS = Table(
    "transactional_ids",
    TransactionalIdRow,
    ("cluster", "producer_id", "transactional_id"),
    {},
    "Producer id to transactional id, over all runs.",
)


DUMP_FILES = Table(
    "dump_files",
    DumpFileTableRow,
    ("cluster", "file", "as_of"),
    {},
    "Every file of every dump, with every byte accounted for.",
)
COORDINATOR_STATES = Table(
    "coordinator_states",
    CoordinatorStateRow,
    ("cluster", "transactional_id"),
    {},
    "Coordinators' state of each transactional id, by the latest dump.",
)
PRODUCER_STATES = Table(
    "producer_states",
    ProducerStateRow,
    (*PARTITION, "producer_id"),
    {},
    "Brokers' state of each producer id, by the latest dump.",
)
VERIFICATIONS = Table(
    "verifications",
    VerificationRow,
    (*TRANSACTION, "verified_at"),
    {"known_status": "status IN ('STILL_STUCK', 'BLOCKED_BY_EARLIER', 'RESOLVED', 'GONE', 'UNKNOWN')"},
    "Answers of the live cluster about abort candidates (`txnlog verify`).",
)
COORDINATOR_RECORDS = Table(
    "coordinator_records",
    CoordinatorRecordRow,
    ("cluster", "coordinator_partition", "topic_id", "offset", "coordinator_epoch"),
    {},
    "Records of __transaction_state that dumps showed, kept after compaction has removed them.",
)
COORDINATOR_RANGES = Table(
    "coordinator_ranges",
    CoordinatorRangeRow,
    ("cluster", "coordinator_partition", "topic_id", "from_offset", "to_offset"),
    {"in_order": "from_offset <= to_offset"},
    "Offsets of __transaction_state of which coordinator_records has every record; of none where records contradicted"
    " one another.",
)
TRANSACTIONS = Table(
    "transactions",
    TransactionRow,
    ("cluster", "coordinator_partition", "topic_id", "transactional_id", "producer_id", "start_timestamp"),
    {"known_outcome": "outcome IS NULL OR outcome IN ('COMMIT', 'ABORT', 'CONTRADICTED')"},
    "Transactions as their coordinators recorded them, over all dumps.",
)
GROUP_POSITIONS = Table(
    "group_positions",
    GroupPositionRow,
    ("cluster", "group_id", "topic", "partition"),
    {},
    "Where consumer groups stand in each partition, by the latest dump.",
)
BLOCKED_GROUPS = Table(
    "blocked_groups",
    BlockedGroupRow,
    ("cluster", "group_id", "topic", "partition"),
    {"known_block": "blocked_by IN ('LAST_STABLE_OFFSET', 'UNSTABLE_OFFSET_COMMIT')"},
    "Consumer groups that open transactions block, by the latest dump.",
)
PARTITION_TRANSACTIONS = Table(
    "partition_transactions",
    PartitionTransactionTableRow,
    (*PARTITION, "producer_id", "first_offset", "marker_offset"),
    {"known_outcome": "outcome IN ('COMMIT', 'ABORT', 'OPEN', 'UNKNOWN')"},
    "Transactions in each partition as its log shows them, by the latest dump of it that `detect --full` judged.",
    PROPERTIES | NOT_INDEXED,
)
FINDINGS = Table(
    "findings",
    FindingRow,
    (*PARTITION, "finding", "producer_id", "first_offset", "marker_offset"),
    {},
    "What is odd about the rows of partition_transactions: late writes, torn outcomes, lost and second markers.",
)
TABLES = (
    ABORT_CANDIDATES,
    OPEN_TRANSACTIONS,
    RUNS,
    DUMP_FILES,
    TRANSACTIONAL_IDS,
    COORDINATOR_STATES,
    PRODUCER_STATES,
    VERIFICATIONS,
    COORDINATOR_RECORDS,
    COORDINATOR_RANGES,
    TRANSACTIONS,
    GROUP_POSITIONS,
    BLOCKED_GROUPS,
    PARTITION_TRANSACTIONS,
    FINDINGS,
)


def columns_of(table: Table) -> tuple[Field, ...]:
    """The columns of a table, in their order."""
    return fields(table.row)


@dataclass(frozen=True, slots=True)
class Root:
    """Where the tables stand: a folder or URI, or `catalog.schema`."""

    text: str

    @property
    def is_schema(self) -> bool:
        """Whether the tables are named by catalog and schema rather than by path."""
        return CATALOG_AND_SCHEMA.fullmatch(self.text) is not None and not Path(self.text).exists()

    def base(self) -> str:
        """The folder or URI of all tables. `TableError` where it is none, or one that cannot be read everywhere."""
        if self.is_schema:
            raise TableError(f"{self.text} names a catalog and schema, which has no folder")
        is_uri = URI.fullmatch(self.text) is not None
        base = self.text if is_uri else str(Path(self.text).absolute())
        if VARIABLE in base or (not is_uri and UNREADABLE.search(base)):
            raise TableError(
                f"{base}: tables cannot be there: a control character, a backslash, a percent sign before two"
                " hexadecimal digits, ${ or what is not UTF-8 in the path leads Spark or delta-rs astray"
            )
        return base.rstrip("/")

    def path_of(self, table: Table) -> str:
        """The table's folder or URI. `TableError` for tables that are named by catalog and schema."""
        return f"{self.base()}/{table.name}"

    def sql_name(self, table: Table) -> str:
        """The table's name for a SQL statement."""
        if self.is_schema:
            return ".".join(quoted(part) for part in (*self.text.split("."), table.name))
        return f"delta.{quoted(self.path_of(table))}"


def literal(text: str) -> str:
    """A text as a literal for a SQL statement."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    # Spark replaces variables such as ${user.home} before it parses; two literals side by side are one text.
    return "'" + escaped.replace("${", "$' '{") + "'"


def missing(root: Root, table: Table) -> MissingTableError:
    """What to raise where a table is not there."""
    return MissingTableError(f"{root.text}: there is no table {table.name} in it: run `txnlog detect` first")


def quoted(name: str) -> str:
    """A name for a SQL statement."""
    return "`" + name.replace("`", "``") + "`"
