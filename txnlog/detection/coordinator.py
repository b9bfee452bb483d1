"""What the coordinators say: current states, whose a producer id is, and which transactions listed a partition."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from txnlog.detection.copies import LACKS_END
from txnlog.detection.times import within_calendar
from txnlog.format.coordinator import TRANSACTION_STATE

ID = ("cluster", "transactional_id")
PLACE = ("cluster", "coordinator_partition")
# A new producer id starts with an Empty record at epoch 0, before its producer can write anything
# (`TransactionMetadata.prepareProducerIdRotation`). Any later start of its producer raises the epoch.
IS_BIRTH = "state = 'Empty' AND producer_epoch = 0"
# A transaction of an id, from its first Ongoing record to its Complete record.
IS_UNDER_WAY = "state IN ('Ongoing', 'PrepareCommit', 'PrepareAbort')"


def chosen_states(states: DataFrame, copies: DataFrame) -> DataFrame:
    """The records of the chosen copy of each coordinator partition; damaged ones stay, with their `problem`."""
    chosen = copies.where(F.col("topic") == TRANSACTION_STATE).select(
        "cluster", "broker", "log_dir", F.col("partition").alias("coordinator_partition")
    )
    return states.join(F.broadcast(chosen), chosen.columns, "left_semi").transform(within_calendars)


def within_calendars(states: DataFrame) -> DataFrame:
    """Times that no calendar holds become null, so that no sum of them overflows."""
    return states.withColumns(
        {
            "timeout_ms": F.col("timeout_ms").cast("bigint"),
            "last_update_timestamp": within_calendar("last_update_timestamp"),
            "start_timestamp": within_calendar("start_timestamp"),
        }
    )


def written() -> Column:
    """When a record was written (ms): the later one of what it says and of its batch.

    A Complete* record carries the time at which its markers were first sent (`TransactionMetadata.prepareComplete`),
    its batch the time at which they had all been written: where one of them is long in coming, that is much later.
    """
    return F.greatest("last_update_timestamp", within_calendar("append_timestamp"))


def coordinator_coverage(
    states: DataFrame, copies: DataFrame, times: DataFrame, taken: DataFrame, disagreeing: DataFrame
) -> DataFrame:
    """One row per coordinator partition in the dump. `taken`: the stretches that the records in `states` are from.

    `whole_from_offset`: every record from there to the end of the copy is there and could be read; null where the end
    itself is missing, or copies disagree (`copies_disagree`). `whole_from` is the time (ms) from which on that holds,
    0 where the log is whole from its start and that is of its first epoch: the later one of what the first such record
    says and of its batch, as a Complete* record carries the time of its preparation
    (`TransactionMetadata.prepareComplete`), possibly long before it was appended. `certain_from_offset`: an id's record
    from there on is its current state, and no damage hides a later one. `gapless_from_offset`: no offset is missing
    from there on; `are_listed`: a listing shows that no segment
    is missing below; `others_reach`: another copy has something from there on. `coordinator_as_of` and
    `coordinator_copy_from` (ms) are no later than the last record of a partition of which fewer brokers have a copy
    than of another, and of any other no later than the first of its copies or its last record.
    """
    # A copy without an end is one that could not be opened: missing.
    logs = copies.where((F.col("topic") == TRANSACTION_STATE) & F.col("log_end_offset").isNotNull()).withColumnRenamed(
        "partition", "coordinator_partition"
    )
    broken = states.groupBy(*PLACE).agg(
        F.max(F.when(F.col("problem").isNotNull(), F.col("offset"))).alias("broken"),
        F.max(written()).alias("latest_record"),
    )
    # The leader may be missing among them, and a follower that had fallen behind proves what it has and nothing more.
    may_lack_leader = F.col("brokers") < F.max("brokers").over(Window.partitionBy("cluster"))
    # A follower that is copied after its leader may have what it had fetched before: so the earliest copy counts.
    latest = F.coalesce("latest_record", F.lit(0))
    copied_since = F.greatest(F.when(~may_lack_leader, F.col("coordinator_since")), latest)
    shown_since = F.greatest(F.when(~may_lack_leader, F.least("shown_since", "coordinator_since")), latest)
    end_is_missing = F.expr(
        f"tail_producer_id IS NOT NULL OR damaged_to > log_end_offset OR {LACKS_END}"
        " OR (high_watermark IS NULL AND NOT is_text)"
    )
    damaged = F.greatest("first_base_offset", "damaged_to", F.col("broken") + 1)
    # The cleaner leaves gaps, but always keeps an id's last record; a missing segment does not.
    unexplained_gap = F.when(~F.coalesce(F.expr("cleaned_to >= gap_to"), F.lit(False)), F.col("gap_to"))
    ends = ~F.coalesce(end_is_missing, F.lit(False))
    history = taken.groupBy(*PLACE).agg(
        F.min("history_from").alias("history_from"),
        F.bool_and("are_listed").alias("are_listed"),
        F.bool_and("others_reach").alias("others_reach"),
    )
    agrees = F.col("copies_disagree").isNull()
    coverage = (
        logs.join(broken, [*PLACE], "left")
        .join(F.broadcast(history), [*PLACE], "left")
        .join(F.broadcast(disagreeing), [*PLACE], "left")
        .join(times, ["cluster", "broker", "log_dir"], "left")
        .withColumn("whole_from_offset", F.when(ends & agrees, F.col("history_from")))
        .withColumn("certain_from_offset", F.when(ends, F.greatest(damaged, unexplained_gap)))
        .select(
            *PLACE,
            "whole_from_offset",
            "certain_from_offset",
            F.col("history_from").alias("gapless_from_offset"),
            "are_listed",
            "others_reach",
            F.least("shown_as_of", shown_since).alias("coordinator_as_of"),
            F.col("as_of_is_plausible").alias("coordinator_as_of_is_plausible"),
            F.col("is_text").alias("coordinator_is_text"),
            F.coalesce("copies_disagree", F.lit(False)).alias("copies_disagree"),
            F.least("copy_from", copied_since).alias("coordinator_copy_from"),
            F.col("copy_to").alias("coordinator_copy_to"),
        )
    )
    first = (
        states.join(F.broadcast(coverage.select(*PLACE, "whole_from_offset")), [*PLACE], "inner")
        .where("offset >= whole_from_offset AND last_update_timestamp IS NOT NULL")
        .groupBy(*PLACE)
        .agg(F.min_by(written(), "offset").alias("first_time"), F.min_by("coordinator_epoch", "offset").alias("first"))
    )
    # A replica that lost its disk and was elected nevertheless begins at offset 0 as well, but not in the first epoch.
    is_all = F.expr("whole_from_offset = 0 AND (first_time IS NULL OR coalesce(first = 0, false))")
    whole_from = F.when(is_all, F.lit(0)).otherwise(F.col("first_time"))
    return coverage.join(first, [*PLACE], "left").withColumn("whole_from", whole_from).drop("first_time", "first")


def producer_ids(states: DataFrame) -> DataFrame:
    """Which transactional id each producer id belongs to: one row per pair that any record names.

    An id changes its producer id when the epochs are used up, so the ones before and after count as well.
    `known_since` (ms) is the earliest record that names it, `born_at` the one that gave it out (`IS_BIRTH`).
    """
    named = F.array_distinct(F.array("producer_id", "previous_producer_id", "next_producer_id"))
    born_at = F.when(F.expr(IS_BIRTH), F.col("last_update_timestamp"))
    return (
        states.where("transactional_id IS NOT NULL AND producer_id IS NOT NULL AND problem IS NULL")
        .withColumns({"named": F.explode(named), "born_at": born_at})
        .where("named >= 0")
        .groupBy("cluster", F.col("named").alias("producer_id"), "transactional_id", "coordinator_partition")
        .agg(
            F.min("last_update_timestamp").alias("known_since"),
            F.min(F.when(F.expr("named = producer_id"), F.col("born_at"))).alias("born_at"),
        )
    )


def histories(states: DataFrame, ids: DataFrame) -> DataFrame:
    """All records of the given ids (columns of `ID`) in their order, each with its neighbours and its transaction.

    `transaction` numbers the transactions of an id; `ended_timestamp` is when the next record was written, the one
    that says a Prepare* record's markers are all written; `is_current` marks the highest offset.
    """
    readable = states.where("transactional_id IS NOT NULL AND problem IS NULL")
    order = Window.partitionBy(*ID).orderBy("offset")
    up_to_here = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        readable.join(F.broadcast(ids.select(*ID).dropDuplicates([*ID])), [*ID], "left_semi")
        .withColumn("begins", _begins(order).cast("int"))
        .withColumn("transaction", F.sum("begins").over(up_to_here))
        .withColumn("ended_timestamp", F.lead(written()).over(order))
        .withColumn("is_current", F.lead("offset").over(order).isNull())
        .drop("begins")
    )


def _begins(order: WindowSpec) -> Column:
    under_way = F.coalesce(F.expr(IS_UNDER_WAY), F.lit(False))
    before = F.coalesce(F.lag(under_way).over(order), F.lit(False))
    same_start = F.lag("start_timestamp").over(order).eqNullSafe(F.col("start_timestamp"))
    same_producer = F.lag("producer_id").over(order).eqNullSafe(F.col("producer_id"))
    return under_way & ~(before & same_start & same_producer)


def current_states(history: DataFrame) -> DataFrame:
    """The current state of each id: the record with the highest offset, as columns `current_…`."""
    return history.where("is_current").select(
        *ID,
        F.struct(
            "state",
            "is_tombstone",
            "producer_id",
            "previous_producer_id",
            "producer_epoch",
            "timeout_ms",
            "topic_partitions",
            "last_update_timestamp",
            "start_timestamp",
            "client_transaction_version",
            F.col("coordinator_epoch").alias("epoch_of_coordinator"),
            "offset",
            "file",
            "position",
        ).alias("current"),
    )


def births(history: DataFrame, coverage: DataFrame) -> DataFrame:
    """One row per (transactional id, producer id) that was given out within the range of whole records.

    Nothing of it was written before. `is_born_in_range` is true.
    """
    return (
        history.where(IS_BIRTH)
        .join(F.broadcast(coverage.select(*PLACE, "whole_from_offset")), [*PLACE], "inner")
        .where("offset >= whole_from_offset")
        .groupBy(*ID, "producer_id")
        .agg(F.lit(True).alias("is_born_in_range"))
    )


def listings(history: DataFrame, clock_skew_ms: int) -> DataFrame:
    """One row per (producer id, partition): the last transaction of the producer id that listed the partition.

    `listing` has its Prepare* record (epoch, time, outcome, place) and when it ended. `committed` is the last of these
    transactions that was committed and has ended. Transactions of one epoch that end within twice the clock skew of
    one another cannot be told apart by the times of their markers: `commits_in_group` counts the commits in the group
    that `committed` belongs to, and `group_from` (ms) is when its first transaction was decided.
    """
    pair = ["cluster", "producer_id", "transactional_id", "topic", "partition"]
    per_transaction = (
        history.where(IS_UNDER_WAY)
        .withColumn("listed", F.explode("topic_partitions"))
        .withColumns({"topic": F.col("listed.topic"), "partition": F.col("listed.partition")})
        .groupBy(*pair, "transaction")
        .agg(
            F.max("offset").alias("listed_offset"),
            F.max(F.when(F.expr("state <> 'Ongoing'"), _prepared())).alias("prepared"),
            F.max_by(F.struct("state", "offset", "file", "position"), "offset").alias("last_record"),
            F.max("client_transaction_version").alias("client_transaction_version"),
        )
    )
    order = Window.partitionBy(*pair).orderBy("listed_offset")
    up_to_here = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # Past any whose Prepare* record is not there.
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    previous = F.last("prepared", ignorenulls=True).over(before)
    same_epoch = previous["epoch"] == F.col("prepared.epoch")
    pause = F.col("prepared.timestamp") - previous["ended_timestamp"]
    starts_group = (~F.coalesce(same_epoch & (pause <= 2 * clock_skew_ms), F.lit(False))).cast("int")
    is_commit = F.expr("prepared.state = 'PrepareCommit' AND prepared.ended_timestamp IS NOT NULL")
    last = F.struct("prepared", "last_record", "listed_offset", "client_transaction_version")
    return (
        per_transaction.withColumn("group", F.sum(starts_group).over(up_to_here))
        .groupBy(*pair, "group")
        .agg(
            F.max_by(last, "listed_offset").alias("listing"),
            F.max_by(F.when(is_commit, _commit()), F.when(is_commit, F.col("listed_offset"))).alias("committed"),
            F.count_if(is_commit).alias("commits_in_group"),
            F.min("prepared.timestamp").alias("group_from"),
        )
        .transform(_latest, pair)
    )


def _latest(groups: DataFrame, pair: list[str]) -> DataFrame:
    has_commit = F.col("committed").isNotNull()
    of_commit = F.struct("committed", "commits_in_group", "group_from")
    return (
        groups.groupBy(*pair)
        .agg(
            F.max_by("listing", "group").alias("listing"),
            F.max_by(F.when(has_commit, of_commit), F.when(has_commit, F.col("group"))).alias("commits"),
        )
        .select(*pair, "listing", "commits.*")
    )


def _commit() -> Column:
    return F.struct(
        "prepared.offset",
        "prepared.epoch",
        "prepared.timestamp",
        "prepared.ended_timestamp",
        "prepared.file",
        "prepared.position",
        "client_transaction_version",
    )


def _prepared() -> Column:
    return F.struct(
        "offset",
        "state",
        F.col("producer_epoch").alias("epoch"),
        F.col("last_update_timestamp").alias("timestamp"),
        "ended_timestamp",
        "coordinator_epoch",
        "file",
        "position",
    )
