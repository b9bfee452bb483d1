"""Transactions as their coordinator recorded them: the current state of each id, and which listed a partition last."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_records import ID, IS_BIRTH, IS_UNDER_WAY, WRITTEN

# The records of an id in their order.
_IN_TURN = f"PARTITION BY {', '.join(ID)} ORDER BY offset"
_OF_EPOCH = f"PARTITION BY {', '.join(ID)}, producer_id, producer_epoch ORDER BY offset"
_EARLIER = f"({_OF_EPOCH} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
# Of all records of the epoch: what only follows each record, Spark would add up anew for each.
_ALL = f"({_OF_EPOCH} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
_BEFORE = (
    f"struct(coordinator_epoch AS epoch, {WRITTEN} AS written, last_update_timestamp AS updated, state, producer_id,"
    " producer_epoch, client_transaction_version AS version)"
)
# Both a new start of the client and the end of a transaction of version 2 raise the epoch (KIP-890).
_HAS_NEW_EPOCH = (
    "before.producer_id = producer_id AND before.producer_epoch = producer_epoch"
    " AND (before.state = 'Empty' OR (before.state LIKE 'Complete%' AND before.version >= 2))"
)


def histories(states: DataFrame, ids: DataFrame) -> DataFrame:
    """All records of the given ids (columns of `ID`) in their order, each with its transaction and what follows it.

    `transaction` numbers the transactions of an id; `ended_timestamp` is when the next record was written, the one
    that says a Prepare* record's markers are all written; `is_current` marks the highest offset. `previous_ended` and
    `previous_aborted` are when the last one before it, and the last one that was aborted, of the same producer epoch
    had ended; `goes_on`: whether one of the same producer epoch was committed later, or is not decided.
    `shares_epoch`: nothing says that the transaction's epoch was new when it began; `is_completed`: whether the record
    that follows says that it has ended.
    """
    readable = states.where("transactional_id IS NOT NULL AND problem IS NULL")
    return (
        readable.join(ids, [*ID], "left_semi")
        .selectExpr("*", f"coalesce({IS_UNDER_WAY}, false) AS is_under_way")
        .selectExpr(
            "*",
            f"coalesce(lag(is_under_way) OVER ({_IN_TURN}), false)"
            f" AND lag(start_timestamp) OVER ({_IN_TURN}) <=> start_timestamp"
            f" AND lag(producer_id) OVER ({_IN_TURN}) <=> producer_id AS continues",
            f"lead({WRITTEN}) OVER ({_IN_TURN}) AS ended_timestamp",
            f"lead(offset) OVER ({_IN_TURN}) IS NULL AS is_current",
            f"lead(state) OVER ({_IN_TURN}) LIKE 'Complete%' AS is_completed",
            f"lag({_BEFORE}) OVER ({_IN_TURN}) AS before",
        )
        .selectExpr(
            "* EXCEPT (is_under_way, continues)",
            f"last_value(if(is_under_way AND NOT continues, NOT coalesce({_HAS_NEW_EPOCH}, false), NULL), true)"
            f" OVER ({_IN_TURN} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS shares_epoch",
            f"count_if(is_under_way AND NOT continues) OVER ({_IN_TURN}"
            " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS transaction",
            f"last_value(if(state RLIKE '^(Prepare|Complete)', {WRITTEN}, NULL), true) OVER {_EARLIER}"
            " AS previous_ended",
            f"last_value(if(state RLIKE '^(Prepare|Complete)Abort', {WRITTEN}, NULL), true) OVER {_EARLIER}"
            " AS previous_aborted",
            f"coalesce(max(if(state RLIKE 'Commit$', offset, NULL)) OVER {_ALL} > offset, false)"
            f" OR coalesce(last_value(state) OVER {_ALL} = 'Ongoing' AND max(offset) OVER {_ALL} > offset, false)"
            " AS goes_on",
        )
    )


def current_states(history: DataFrame) -> DataFrame:
    """The current state of each id: the record with the highest offset, as columns `current_…`."""
    return history.where("is_current").selectExpr(
        *ID,
        "struct(broker, state, is_tombstone, producer_id, next_producer_id, producer_epoch, timeout_ms,"
        " topic_partitions, last_update_timestamp, start_timestamp, client_transaction_version,"
        " coordinator_epoch AS epoch_of_coordinator, offset, file, position) AS current",
    )


def first_records(history: DataFrame) -> DataFrame:
    """One row per (transactional id, producer id), by the first record that is there.

    `born_offset`: where it is the one that gave the producer id out. Nothing of the id was written before. A request
    that is sent again may give it out once more (KIP-360). `first_completed` (ms): when it was written where it says
    that a transaction is complete. That was decided before all records that are there.
    """
    first = f"min_by(struct({IS_BIRTH} AS is_birth, offset, state, {WRITTEN} AS written), offset) AS first"
    return summed(history, (*ID, "producer_id"), first).selectExpr(
        *ID,
        "producer_id",
        "if(first.is_birth, first.offset, NULL) AS born_offset",
        "if(first.state LIKE 'Complete%', first.written, NULL) AS first_completed",
    )


# With version 2 the record that ends a transaction is of the next epoch (KIP-890).
_ENDS_LATER = "if(state = 'Ongoing' AND coalesce(client_transaction_version, 0) >= 2, 1, 0)"


def unlisting_commits(history: DataFrame) -> DataFrame:
    """One row per (transactional id, producer id): `unlisting_commits`, which may not list all that they wrote.

    An unclean election may have lost a record that listed a partition. The new coordinator commits the others, or may
    do so yet: one that is not decided counts, too, its `timestamp` null.
    `has_moved`: its coordinator changed before or in it; `may_have_moved`: nothing before it is left of the id.
    `shares_epoch`: it is of version 2, but perhaps not the first one of its epoch. Then the leader of a partition in
    which something of that epoch was still open did not add it (`UnifiedLog.maybeStartTransactionVerification`).
    `since` (ms): nothing that it does not list is older; null where nothing says so. `coordinator_epoch` is that of its
    first record if that began it. It may end at any epoch from `lowest_epoch` on (KIP-939 raises it twice).
    """
    commit = (
        f"struct(offset, producer_epoch + {_ENDS_LATER} AS epoch, client_transaction_version, topic_partitions,"
        " if(state = 'Ongoing', NULL, last_update_timestamp) AS timestamp)"
    )
    is_commit = "state = 'PrepareCommit' OR (state = 'Ongoing' AND is_current)"
    transactions = summed(
        history.where(IS_UNDER_WAY),
        (*ID, "producer_id", "transaction"),
        f"max_by({commit}, offset) FILTER (WHERE {is_commit}) AS commit",
        "min_by(struct(state, coordinator_epoch, before, start_timestamp), offset) AS first",
        "min(coordinator_epoch) < max(coordinator_epoch) AS moves",
        f"min(producer_epoch + {_ENDS_LATER}) AS lowest_epoch",
        "bool_or(shares_epoch AND client_transaction_version >= 2) AS shares_epoch",
    ).where("commit IS NOT NULL")
    # Whether it began with the coordinator that wrote the record before.
    marked = transactions.selectExpr(
        "*", "if(first.state = 'Ongoing', first.before.epoch >= first.coordinator_epoch, NULL) AS begins"
    ).where("moves OR NOT coalesce(begins, false) OR shares_epoch")
    # Its client may write as soon as the request that ended the transaction before it is answered.
    since = "if(shares_epoch, first.before.updated, if(begins, first.start_timestamp, first.before.written)) AS since"
    began_with = "if(first.state = 'Ongoing', first.coordinator_epoch, NULL) AS coordinator_epoch"
    has_moved = "moves OR NOT coalesce(begins, true) AS has_moved", "begins IS NULL AND NOT moves AS may_have_moved"
    found = f"struct(commit.*, lowest_epoch, {', '.join(has_moved)}, shares_epoch, {since}, {began_with})"
    return summed(marked, (*ID, "producer_id"), f"collect_list({found}) AS unlisting_commits")


# The partition of a transactional id's producer id.
_PAIR = ("cluster", "producer_id", "transactional_id", "topic", "partition")
_OF_PAIR = f"PARTITION BY {', '.join(_PAIR)} ORDER BY listed_offset"
_PREPARED = (
    "struct(offset, state, producer_epoch AS epoch, last_update_timestamp AS timestamp, ended_timestamp,"
    " coordinator_epoch, file, position, previous_ended, previous_aborted, goes_on, is_completed)"
)
_COMMIT = (
    "struct(prepared.offset, prepared.epoch, prepared.timestamp, prepared.ended_timestamp, prepared.file,"
    " prepared.position, prepared.previous_ended, prepared.is_completed, client_transaction_version, shares_epoch,"
    " start_timestamp)"
)
_ABORT = (
    "if(prepared.state = 'PrepareAbort', struct(prepared.offset, prepared.epoch, prepared.timestamp,"
    " prepared.ended_timestamp, prepared.previous_aborted, prepared.goes_on, start_timestamp,"
    " client_transaction_version), NULL)"
)


def listings(history: DataFrame, clock_skew_ms: int) -> DataFrame:
    """One row per (producer id, partition): the last transaction of the producer id that listed the partition.

    `listing` has its Prepare* record (epoch, time, outcome, place) and when it ended. `committed` is the last of these
    transactions that was committed and has ended. Transactions of one epoch that end within twice the clock skew of
    one another cannot be told apart by the times of their markers: `commits_in_group` counts the commits in the group
    that `committed` belongs to, and `group_from` (ms) is when its first transaction was decided. The
    `aborts`, all those that were aborted, may have written the same data. `shares_epoch`: others may have the epoch of
    `listing` or `committed`, by its version or as nothing says that it was new.
    """
    is_commit = "prepared.state = 'PrepareCommit' AND prepared.ended_timestamp IS NOT NULL"
    of_groups = summed(
        _in_groups(_listing_transactions(history), clock_skew_ms),
        (*_PAIR, "group"),
        "max_by(struct(prepared, last_record, listed_offset, client_transaction_version, shares_epoch), listed_offset)"
        " AS listing",
        f"max_by({_COMMIT}, listed_offset) FILTER (WHERE {is_commit}) AS committed",
        f"count_if({is_commit}) AS commits_in_group",
        "min(prepared.timestamp) AS group_from",
        f"collect_list({_ABORT}) AS aborts",
    )
    latest = summed(
        of_groups,
        _PAIR,
        "max_by(listing, group) AS listing",
        "max_by(struct(committed, commits_in_group, group_from), group) FILTER (WHERE committed IS NOT NULL)"
        " AS commits",
        "flatten(collect_list(aborts)) AS aborts",
    )
    return latest.selectExpr(*_PAIR, "listing", "commits.*", "aborts")


def _listing_transactions(history: DataFrame) -> DataFrame:
    """One row per transaction and partition that it listed."""
    return summed(
        history.where(IS_UNDER_WAY).selectExpr("*", "inline(topic_partitions)"),
        (*_PAIR, "transaction"),
        "max(offset) AS listed_offset",
        f"max(if(state <> 'Ongoing', {_PREPARED}, NULL)) AS prepared",
        "max_by(struct(state, offset, file, position), offset) AS last_record",
        "max_by(client_transaction_version, offset) AS client_transaction_version",
        # Before version 2 one epoch has many.
        "coalesce(max_by(client_transaction_version, offset), 0) < 2 OR bool_or(shares_epoch) AS shares_epoch",
        "max(start_timestamp) AS start_timestamp",
    )


def _in_groups(transactions: DataFrame, clock_skew_ms: int) -> DataFrame:
    """The transactions of each partition, with the number of their `group`."""
    before = f"({_OF_PAIR} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    is_near = (
        "coalesce(previous.epoch = prepared.epoch"
        f" AND prepared.timestamp - previous.ended_timestamp <= {2 * clock_skew_ms}, false)"
    )
    return (
        # The previous one that has a Prepare* record.
        transactions.selectExpr("*", f"last_value(prepared, true) OVER {before} AS previous").selectExpr(
            "*",
            f"count_if(NOT {is_near}) OVER ({_OF_PAIR} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS group",
        )
    )
