"""Records of `__transaction_state` from several copies: each broker cleans its own log, and one has what another lacks.

The current state of an id is that of the chosen copy. As history the records of another copy count as well, as far as
that is whole and below its high watermark, if it reaches up to where the chosen copy is whole. Copies that disagree
show that records were lost in an unclean leader election.

The cleaner merges segments and removes those that it has merged (`UnifiedLog.replaceSegments`). A copy that is made
meanwhile may have the first one as it was and lack the next: a gap like those that the cleaner leaves. So what lies
below a gap is a current state only if another copy, or a listing made before, shows that nothing went missing.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.coordinator import ID, PLACE, within_calendars
from txnlog.detection.copies import IS_COORDINATOR
from txnlog.format.batch import NOTHING_FOLLOWS

OF_COPY = ("broker", "log_dir")


def coordinator_copies(states: DataFrame, everywhere: DataFrame, chosen: DataFrame) -> DataFrame:
    """All copies of all coordinator partitions, `everywhere` being the copies of all partitions.

    `whole_from`: every record from that offset to the copy's end is there and can be read. `certain_to`: every broker
    that could lead had the records below; null where nobody says so. `is_chosen`: whether it is the copy that is
    believed.
    """
    broken = states.where("problem IS NOT NULL").groupBy(*PLACE, *OF_COPY).agg(F.max("offset").alias("broken"))
    believed = chosen.select("cluster", *OF_COPY, "topic", "partition").withColumn("is_chosen", F.lit(True))
    return (
        everywhere.where(f"{IS_COORDINATOR} AND log_end_offset IS NOT NULL")
        .join(F.broadcast(believed), ["cluster", *OF_COPY, "topic", "partition"], "left")
        .withColumnRenamed("partition", "coordinator_partition")
        .join(F.broadcast(broken), [*PLACE, *OF_COPY], "left")
        .select(
            *PLACE,
            *OF_COPY,
            F.expr("coalesce(is_chosen, false)").alias("is_chosen"),
            F.expr("coalesce(is_text, false)").alias("is_text"),
            F.expr("greatest(first_base_offset, damaged_to, gap_to, broken + 1)").alias("whole_from"),
            "log_end_offset",
            "unlisted_from",
            F.max(F.expr("if(is_chosen OR is_text, NULL, log_end_offset)"))
            .over(Window.partitionBy(*PLACE))
            .alias("others_end"),
            F.expr("if(is_text OR high_watermark IS NULL, null, least(log_end_offset, high_watermark))").alias(
                "certain_to"
            ),
        )
    )


def stretches(copies: DataFrame) -> DataFrame:
    """From which copy each stretch of a coordinator partition is taken: `from_offset` to `to_offset` (excluded).

    `copies` are those of `coordinator_copies`. `history_from`: every record from that offset on is in one of them.
    `are_listed`: all segments below that were in a listing made before the copy, as long as they are. `others_reach`:
    another raw copy has something beyond it.
    """
    names = {"whole_from": "own_from", "certain_to": "own_to", "log_end_offset": "own_end"}
    believed = copies.where("is_chosen").withColumnsRenamed(names)
    others = (
        copies.where("NOT is_chosen AND certain_to IS NOT NULL")
        .join(F.broadcast(believed.select(*PLACE, "own_from")), [*PLACE], "inner")
        .where("whole_from < own_from AND certain_to >= own_from")
        .groupBy(*PLACE)
        .agg(F.min(F.struct("whole_from", *OF_COPY)).alias("other"))
    )
    stretch = "named_struct('broker', {0}broker, 'log_dir', {0}log_dir, 'from_offset', {1}, 'to_offset', {2})"
    own, other = stretch.format("", "{}", "{}"), stretch.format("other.", "other.whole_from", "own_from")
    in_turn = f"array({own.format('0L', 'other.whole_from')}, {other}, {own.format('own_from', f'{NOTHING_FOLLOWS}L')})"
    alone = f"array({own.format('0L', f'{NOTHING_FOLLOWS}L')})"
    return (
        believed.join(F.broadcast(others), [*PLACE], "left")
        .withColumn("stretch", F.explode(F.expr(f"if(other IS NULL, {alone}, {in_turn})")))
        .withColumn("history_from", F.expr("least(own_from, other.whole_from)"))
        .select(
            *PLACE,
            "stretch.*",
            "history_from",
            F.expr("coalesce(unlisted_from >= history_from, true)").alias("are_listed"),
            F.expr("coalesce(others_end > history_from, false)").alias("others_reach"),
        )
    )


def elsewhere(states: DataFrame, copies: DataFrame, taken: DataFrame) -> DataFrame:
    """The readable records of the raw copies that are not believed.

    `reaches`: its copy has something from where on the history is whole (`stretches`), so it had what is missing below.
    """
    # Of each partition one stretch is the last.
    whole = taken.where(f"to_offset = {NOTHING_FOLLOWS}").select(*PLACE, "history_from")
    others = (
        copies.where("NOT is_chosen AND NOT is_text")
        .join(F.broadcast(whole), [*PLACE], "inner")
        .select(*PLACE, *OF_COPY, F.expr("log_end_offset > history_from").alias("reaches"))
    )
    return (
        states.where("problem IS NULL AND transactional_id IS NOT NULL")
        .join(F.broadcast(others), [*PLACE, *OF_COPY], "inner")
        .transform(within_calendars)
    )


def last_elsewhere(records: DataFrame, ids: DataFrame) -> DataFrame:
    """One row per id of `ids` that `elsewhere` has: the offset of the last record of it in the other copies
    (`last_elsewhere`) and in those that reach beyond what is missing (`last_reaching`), and whether that is a tombstone
    (`is_forgotten`).
    """
    wanted = ids.select(*ID).dropDuplicates([*ID])
    return (
        records.join(F.broadcast(wanted), [*ID], "left_semi")
        .groupBy(*ID)
        .agg(
            F.max("offset").alias("last_elsewhere"),
            F.max(F.when(F.col("reaches"), F.col("offset"))).alias("last_reaching"),
            F.max_by("is_tombstone", "offset").alias("is_forgotten"),
        )
    )


def recorded_states(states: DataFrame, taken: DataFrame) -> DataFrame:
    """The records of all stretches; damaged ones stay, with their `problem`."""
    return (
        states.join(F.broadcast(taken), [*PLACE, *OF_COPY], "inner")
        .where("offset >= from_offset AND offset < to_offset")
        .select(*states.columns)
        .transform(within_calendars)
    )


def disagreements(states: DataFrame, copies: DataFrame) -> DataFrame:
    """The coordinator partitions of which two copies differ: (cluster, partition).

    Records at one offset were written by coordinators of different epochs. High watermarks do not matter: that of a
    broker that died is some seconds old, and what it had above was perhaps acknowledged.
    """
    raw = copies.where("NOT is_text").select(*PLACE, *OF_COPY)
    return (
        states.where("problem IS NULL")
        .join(F.broadcast(raw), [*PLACE, *OF_COPY], "left_semi")
        .groupBy(*PLACE, "offset")
        .agg(F.min("coordinator_epoch").alias("first"), F.max("coordinator_epoch").alias("last"))
        .where("first <> last")
        .select(*PLACE)
        .distinct()
        .withColumn("copies_disagree", F.lit(True))
    )
