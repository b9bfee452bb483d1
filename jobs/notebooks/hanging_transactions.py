# Databricks notebook source
# MAGIC %md
# MAGIC # Hanging Kafka transactions: twelve questions about one dump
# MAGIC
# MAGIC Each question is one query in SQL, over the views below, and a plot. The notebook reads files and tables and runs
# MAGIC `txnlog detect` if you let it. It never asks a Kafka cluster.
# MAGIC
# MAGIC | topic | questions |
# MAGIC |---|---|
# MAGIC | what to do now | 1 what hangs, 2 what it holds back, 3 which consumer groups it blocks |
# MAGIC | how it happened | 4 late writes, 5 one id's history, 6 what was open when, 7 how long others took, 8 who was fenced |
# MAGIC | what became of the data | 9 did a transaction end differently in some of its partitions |
# MAGIC | how far to trust it | 10 is the dump complete, 11 do the copies agree |
# MAGIC | whether it gets worse | 12 history over runs |
# MAGIC
# MAGIC It runs on classic, standard and serverless compute with `txnlog` installed (`%pip install` of the wheel), and
# MAGIC outside Databricks as a script: `python jobs/notebooks/hanging_transactions.py`. There its parameters are variables
# MAGIC of the environment: `TXNLOG_DUMP` and so on. Plots need the extra `notebook`: `pip install 'txnlog[notebook]'`.
# MAGIC
# MAGIC | parameter | meaning |
# MAGIC |---|---|
# MAGIC | `dump` | folder of the dump, such as `/Volumes/main/kafka/dumps/2026-11-21` |
# MAGIC | `tables` | where the Delta tables are: a folder, a URI, or `catalog.schema` |
# MAGIC | `detect` | `yes`: run `txnlog detect` first; `no`: the tables already have this dump |
# MAGIC | `cluster`, `topic`, `transactional_id` | only this one; empty: all |
# MAGIC | `earliest`, `latest` | only transactions that were open between these times, such as `2026-11-21T09:00:00Z`; empty: all |
# MAGIC | `plots` | outside a notebook: the folder for the plots |

# COMMAND ----------

import os
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.report import charts, contents, coverage, overview, run_history
from txnlog.sources import reading
from txnlog.spark.session import session
from txnlog.tables.layout import (
    BLOCKED_GROUPS,
    DUMP_FILES,
    OPEN_TRANSACTIONS,
    RUNS,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
    Root,
    Table,
)
from txnlog.times import instant_ms

IN_DATABRICKS = "DATABRICKS_RUNTIME_VERSION" in os.environ
IN_NOTEBOOK = IN_DATABRICKS or "get_ipython" in globals()


def parameter(name: str, default: str) -> str:
    """A widget on Databricks, a variable of the environment elsewhere."""
    if IN_DATABRICKS:
        dbutils.widgets.text(name, default)
        return dbutils.widgets.get(name)
    return os.environ.get(f"TXNLOG_{name.upper()}", default)


def show(question: str, frame: DataFrame) -> None:
    """A table below the cell; outside a notebook, under its question."""
    if IN_DATABRICKS:
        display(frame)
        return
    print(f"\n{question}\n")
    frame.show(50, truncate=False)


plots = {}


def plot(name: str, figure: object) -> None:
    """A figure of Plotly below the cell; outside a notebook, in a file."""
    plots[name] = figure
    if IN_NOTEBOOK:
        figure.show()
        return
    folder = Path(parameter("plots", "build/notebook-plots"))
    folder.mkdir(parents=True, exist_ok=True)
    figure.write_html(folder / f"{name}.html", include_plotlyjs="directory")


spark = session("txnlog-notebook")
dump = parameter("dump", "data/samples/kafka-3.5.2")
tables = Root(parameter("tables", "build/notebook-tables"))
if parameter("detect", "yes") == "yes":
    run(spark, detect_options({"dump": dump, "tables": tables.text}))

# COMMAND ----------

# MAGIC %md
# MAGIC ## The views
# MAGIC
# MAGIC | view | content |
# MAGIC |---|---|
# MAGIC | `latest_run` | the latest run over this dump, one row a cluster |
# MAGIC | `open_transactions` | its open transactions with cause, action and evidence |
# MAGIC | `blocked_groups` | the consumer groups that they block |
# MAGIC | `transactions` | the transactions that coordinators recorded, of all dumps in the tables |
# MAGIC | `partition_transactions` | the transactions that the logs of the dump show, ended and open, with their ids |
# MAGIC | `transactions_of_any_time` | the same, whatever the parameters ask for |
# MAGIC | `transaction_states` | the records of `__transaction_state` in the dump |
# MAGIC | `dump_files` | every file of the dump, every byte accounted for |
# MAGIC | `runs` | all runs in the tables |
# MAGIC
# MAGIC The dump has one copy of a partition for each replica that was copied. Copies are never mixed: a lagging follower
# MAGIC lacks markers that its leader has. So `partition_transactions` and `transaction_states` have only the copy of each
# MAGIC partition that txnlog used. Durations go from the first time in the data, which with `CreateTime` is the producer's
# MAGIC clock, to the marker, which has the broker's.

# COMMAND ----------

PARTITION = ["cluster", "topic", "partition"]
wanted = {name: parameter(name, "") for name in ("cluster", "topic", "transactional_id")}
earliest, latest = (instant_ms(text) if text else None for text in (parameter("earliest", ""), parameter("latest", "")))


def chosen(rows: DataFrame, begin: str | None = None, end: str | None = None) -> DataFrame:
    """The rows that the parameters ask for; `begin` and `end` are columns in ms since 1970, null where unknown."""
    for name, value in wanted.items():
        if value and name in rows.columns:
            rows = rows.where(F.col(name) == value)
    if begin and latest is not None:
        rows = rows.where(f"coalesce({begin} < {latest}, true)")
    if end and earliest is not None:
        rows = rows.where(f"coalesce({end} >= {earliest}, true)")
    return rows


def table(kind: Table) -> DataFrame:
    return spark.sql(f"SELECT * FROM {tables.sql_name(kind)}")


latest_run = (
    table(RUNS)
    .where(F.col("dump") == dump)
    .withColumn("age", F.row_number().over(Window.partitionBy("cluster").orderBy(F.desc("finished_at"))))
    .where("age = 1")
    .select("cluster", "as_of_from", "as_of_to", "coordinator_partitions")
)
if latest_run.isEmpty():
    judged = ", ".join(row.dump for row in table(RUNS).select("dump").distinct().sort("dump").collect())
    raise SystemExit(f"The tables have no run over {dump}: detect it, or name it as a run did: {judged or 'none yet'}")


def of_this_dump(rows: DataFrame) -> DataFrame:
    """The rows whose as-of lies within the latest run."""
    window = F.broadcast(latest_run.select("cluster", "as_of_from", "as_of_to"))
    return rows.join(window, ["cluster"]).where("as_of BETWEEN as_of_from AND as_of_to").drop("as_of_from", "as_of_to")


copies = table(DUMP_FILES).transform(of_this_dump).where("copy_chosen").select("log_dir", *PARTITION).dropDuplicates()
coordinators = copies.where("topic = '__transaction_state'").select(
    "log_dir", "cluster", F.col("partition").alias("coordinator_partition")
)
# Where several ids claim a producer id, nothing tells which of them wrote.
owner = F.expr("if(count(DISTINCT transactional_id) = 1, max(transactional_id), NULL)")
owners = table(TRANSACTIONAL_IDS).groupBy("cluster", "producer_id").agg(owner.alias("transactional_id"))
in_partitions = (
    reading.partition_transactions(spark, dump)
    .join(F.broadcast(copies), ["log_dir", *PARTITION], "left_semi")
    .join(owners, ["cluster", "producer_id"], "left")
)
views = {
    "latest_run": latest_run.transform(chosen),
    "open_transactions": table(OPEN_TRANSACTIONS)
    .transform(of_this_dump)
    .transform(chosen, "unix_millis(start_timestamp)"),
    "blocked_groups": table(BLOCKED_GROUPS).transform(chosen),
    "transactions": table(TRANSACTIONS).transform(
        chosen, "unix_millis(start_timestamp)", "unix_millis(coalesce(completed_at, decided_at))"
    ),
    "partition_transactions": in_partitions.transform(
        chosen, "coalesce(first_timestamp, marker_timestamp)", "marker_timestamp"
    ),
    # Of any time and id: a transaction of the period may have its markers after it.
    "transactions_of_any_time": in_partitions,
    "transaction_states": reading.transaction_states(spark, dump)
    .join(F.broadcast(coordinators), ["log_dir", "cluster", "coordinator_partition"], "left_semi")
    .transform(chosen),
    # Of all topics: what is missing may be of a coordinator.
    "dump_files": reading.dump_files(spark, dump).where(F.lit(wanted["cluster"]).isin("", F.col("cluster"))),
    "runs": table(RUNS).transform(chosen),
}
for name, rows in views.items():
    rows.createOrReplaceTempView(name)

# Input of the HTML report's figures: of the latest run over each cluster in these tables, what the parameters ask for.
key = ("cluster", "topic", "partition", "start_offset", "producer_id")
asked = {tuple(row) for row in spark.sql(f"SELECT {', '.join(key)} FROM open_transactions").collect()}
report = contents.of_spark(spark, tables).only(wanted["cluster"] or None)
opened = [row for row in report.transactions if tuple(map(row.get, key)) in asked]
report = replace(report, transactions=opened)

# COMMAND ----------

# MAGIC %md
# MAGIC ## 1. Which transactions hang, and what should you do?
# MAGIC
# MAGIC Only late ones. `late` is null if the age is unknown: those are shown, too. Abort only rows with the action ABORT,
# MAGIC and check the live cluster before you do.

# COMMAND ----------

hanging = spark.sql("""
    SELECT topic, partition, start_offset, transactional_id, producer_id, cause, action, confidence, reason
    FROM open_transactions
    WHERE late IS NULL OR late
    ORDER BY action, topic, partition, start_offset
""")
show("1. Which transactions hang, and what should you do?", hanging)

# COMMAND ----------

plot("1-causes", overview.causes(report))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 2. What holds back each partition?
# MAGIC
# MAGIC Consumers with `isolation.level=read_committed` stop at the last stable offset: the start of the first open
# MAGIC transaction. When it ends, they go on to the next one. `open_after` counts the open transactions after the first.

# COMMAND ----------

held_back = spark.sql("""
    SELECT topic, partition, last_stable_offset, log_end_offset, held_back_records, held_back_since,
           min_by(struct(transactional_id, cause, action), start_offset) AS holder,
           count(*) - 1 AS open_after
    FROM open_transactions
    GROUP BY ALL
    ORDER BY topic, partition
""")
show("2. What holds back each partition?", held_back)

# COMMAND ----------

plot("2-held-back", overview.held_back(report))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 3. Which consumer groups are blocked?
# MAGIC
# MAGIC Groups that have read up to the last stable offset while data waits after it, or whose own commit is part of an open
# MAGIC transaction. Whether a group reads `read_committed`, no record says: `not_known` has what else is not known.

# COMMAND ----------

blocked = spark.sql("""
    SELECT group_id, topic, partition, blocked_by, committed_offset, last_stable_offset, waiting_offsets,
           transactional_id, cause, action, not_known
    FROM blocked_groups
    ORDER BY waiting_offsets DESC, group_id, topic, partition
""")
show("3. Which consumer groups are blocked?", blocked)

# COMMAND ----------

waiting = blocked.collect()
names = [f"{row.group_id}: {row.topic}-{row.partition}" for row in waiting]
plot("3-blocked", charts.bars(names, [row.waiting_offsets or 0 for row in waiting], "offsets that wait"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 4. Which producers wrote after their transaction's end?
# MAGIC
# MAGIC Data after a producer id's last marker in a partition, at no newer epoch, while its coordinator has no ongoing
# MAGIC transaction that lists the partition. Young ones are included: a late write is one immediately. What question 1 keeps,
# MAGIC as its commit lost the marker, is no late write and not here.

# COMMAND ----------

late_writes = spark.sql("""
    WITH under_way AS (
        SELECT cluster, current.producer_id, explode(current.topic_partitions) AS listed
        FROM (SELECT cluster, max_by(struct(state, producer_id, topic_partitions), offset) AS current
              FROM transaction_states WHERE problem IS NULL GROUP BY cluster, transactional_id)
        WHERE current.state IN ('Ongoing', 'PrepareCommit', 'PrepareAbort')
    )
    SELECT written.topic, written.partition, transactional_id, written.producer_id, producer_epoch,
           previous_marker_type AS ended_by, previous_marker_offset AS marker_offset, first_offset, records
    FROM partition_transactions AS written
    LEFT ANTI JOIN under_way
      ON written.cluster = under_way.cluster AND written.producer_id = under_way.producer_id
     AND written.topic = under_way.listed.topic AND written.partition = under_way.listed.partition
    LEFT ANTI JOIN (SELECT * FROM open_transactions WHERE action = 'KEEP') AS kept
      ON kept.cluster = written.cluster AND kept.topic = written.topic AND kept.partition = written.partition
     AND kept.producer_id = written.producer_id AND kept.start_offset = written.first_offset
    WHERE outcome = 'OPEN' AND producer_epoch <= previous_marker_epoch
    ORDER BY topic, partition, first_offset
""")
show("4. Which producers wrote after their transaction's end?", late_writes)

# COMMAND ----------

late = late_writes.collect()
names = [f"{row.topic}-{row.partition} at {row.first_offset}" for row in late]
plot("4-late-writes", charts.bars(names, [row.records for row in late], "records written after the end"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 5. What did the coordinator record about one transactional id, over time?
# MAGIC
# MAGIC In the order of offsets, because timestamps can go backwards. Records that compaction removed are missing. It is the
# MAGIC id of the parameter, or else that of the first hanging transaction.

# COMMAND ----------

looked_at = spark.createDataFrame([(wanted["transactional_id"] or None,)], "transactional_id string")
if not wanted["transactional_id"]:
    looked_at = hanging.where("transactional_id IS NOT NULL").select("transactional_id").limit(1)
looked_at.createOrReplaceTempView("looked_at")
history = spark.sql("""
    SELECT offset, timestamp_millis(last_update_timestamp) AS written, state, producer_id, producer_epoch,
           array_join(transform(topic_partitions, each -> concat_ws('-', each.topic, each.partition)), ' ') AS listed,
           is_tombstone
    FROM transaction_states JOIN looked_at USING (transactional_id)
    ORDER BY offset
""")
show("5. What did the coordinator record about one transactional id, over time?", history)

# COMMAND ----------

states = [(row.written, row.state) for row in history.collect() if row.state is not None]
plot("5-history", charts.steps({looked_at.first().transactional_id or "": states}, "state"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 6. How many transactions were open when?
# MAGIC
# MAGIC Each transaction of a partition counts from its first time to its marker. If a line does not end at zero, that many are
# MAGIC still open at the end of the dump.

# COMMAND ----------

open_over_time = spark.sql("""
    WITH spans AS (
        SELECT cluster, least(first_timestamp, marker_timestamp, unix_millis(as_of_to)) AS opened,
               marker_timestamp AS closed
        FROM partition_transactions JOIN latest_run USING (cluster)
        WHERE batches > 0
    ), change AS (
        SELECT cluster, opened AS moment, 1 AS change FROM spans
        UNION ALL SELECT cluster, closed, -1 FROM spans WHERE closed IS NOT NULL
    ), bounds AS (
        SELECT greatest(1000, (max(moment) - min(moment)) DIV 500) AS width FROM change
    )
    SELECT cluster, timestamp_millis(moment - moment % width) AS moment,
           sum(sum(change)) OVER (PARTITION BY cluster ORDER BY moment - moment % width) AS open
    FROM change CROSS JOIN bounds
    GROUP BY cluster, moment - moment % width
    ORDER BY cluster, moment
""")
show("6. How many transactions were open when?", open_over_time)

# COMMAND ----------

lines: dict[str, list] = {}
for point in open_over_time.collect():
    lines.setdefault(point.cluster, []).append((point.moment, point.open))
plot("6-open-over-time", charts.steps(lines, "open transactions"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 7. How long did the transactions that ended take?
# MAGIC
# MAGIC Per topic, and per transactional id, from the first time in the data (mostly the producer's clock) to the marker. Compare
# MAGIC hanging transactions with these durations: a topic whose transactions take seconds does not need a timeout of fifteen
# MAGIC minutes. From start to end by the coordinators' clocks: `txnlog transactions --summary`.

# COMMAND ----------

durations = spark.sql("""
    SELECT topic, transactional_id, count(*) AS ended,
           round(100 * count_if(outcome = 'ABORT') / count(*), 1) AS aborted_percent,
           percentile_approx(marker_timestamp - first_timestamp, array(0.5, 0.95, 0.99)) AS p50_p95_p99_ms,
           max(marker_timestamp - first_timestamp) AS longest_ms
    FROM partition_transactions
    WHERE marker_timestamp >= first_timestamp
    GROUP BY GROUPING SETS ((topic), (transactional_id))
    ORDER BY longest_ms DESC, topic, transactional_id
""")
show("7. How long did the transactions that ended take?", durations)

# COMMAND ----------

slowest = durations.where("topic IS NOT NULL").collect()
plot("7-durations", charts.bars([row.topic for row in slowest], [row.longest_ms for row in slowest], "longest, ms"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 8. Which producers were fenced or replaced?
# MAGIC
# MAGIC The coordinator writes an Empty record whenever a producer of an id starts. An id that starts often, with few
# MAGIC transactions in between, restarts or runs twice at the same time: that creates zombies. With transaction version 2
# MAGIC each transaction has an epoch of its own, so the epochs alone do not tell it. When each was fenced, and by whom:
# MAGIC `txnlog fencings`.

# COMMAND ----------

epochs = spark.sql("""
    SELECT cluster, transactional_id, count(DISTINCT producer_id) AS producer_ids,
           count_if(state = 'Empty') AS starts,
           count(DISTINCT producer_id, producer_epoch) AS epochs,
           count_if(state IN ('CompleteCommit', 'CompleteAbort')) AS transactions
    FROM transaction_states WHERE problem IS NULL AND NOT is_tombstone
    GROUP BY cluster, transactional_id
    HAVING starts > 1 OR producer_ids > 1
    ORDER BY starts DESC, epochs DESC, cluster, transactional_id
""")
show("8. Which producers were fenced or replaced?", epochs)

# COMMAND ----------

fenced = epochs.collect()
plot("8-starts", charts.bars([row.transactional_id for row in fenced], [row.starts for row in fenced], "starts"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 9. Did a transaction end differently in some of its partitions?
# MAGIC
# MAGIC A marker is of the transaction with its producer id and epoch, where each has an epoch of its own (transaction version
# MAGIC 2), or else of the one between whose decision and end it was written, if clocks agree. `without_marker`: partitions in
# MAGIC the dump that the transaction listed and that have no marker of it, at least not any more.

# COMMAND ----------

torn = spark.sql("""
    WITH listed AS (
        SELECT cluster, transactional_id, producer_id, end_epoch, client_transaction_version AS version, start_timestamp,
               decided_at, completed_at, outcome AS recorded, explode(partitions) AS place
        FROM transactions WHERE outcome IS NOT NULL AND completed_at IS NOT NULL
    ), ends AS (
        SELECT listed.*, concat_ws('-', place.topic, place.partition) AS name, ended.outcome AS marker
        FROM listed
        JOIN (SELECT DISTINCT cluster, topic, partition FROM transactions_of_any_time) AS present
          ON present.cluster = listed.cluster AND present.topic = place.topic AND present.partition = place.partition
        LEFT JOIN transactions_of_any_time AS ended
          ON ended.cluster = listed.cluster AND ended.topic = place.topic AND ended.partition = place.partition
         AND ended.producer_id = listed.producer_id AND ended.marker_epoch = listed.end_epoch
         AND (version = 2 OR timestamp_millis(ended.marker_timestamp) BETWEEN decided_at AND completed_at)
    )
    SELECT transactional_id, start_timestamp, recorded,
           sort_array(collect_list(CASE WHEN marker = 'COMMIT' THEN name END)) AS committed_in,
           sort_array(collect_list(CASE WHEN marker = 'ABORT' THEN name END)) AS aborted_in,
           sort_array(collect_list(CASE WHEN marker IS NULL THEN name END)) AS without_marker
    FROM ends
    GROUP BY cluster, transactional_id, producer_id, start_timestamp, recorded
    HAVING count_if(marker IS NULL OR marker <> recorded) > 0
    ORDER BY transactional_id, start_timestamp
""")
show("9. Did a transaction end differently in some of its partitions?", torn)

# COMMAND ----------

differing = torn.collect()
names = [f"{row.transactional_id}, {row.recorded}" for row in differing]
counts = [
    len(row.without_marker) + len(row.aborted_in if row.recorded == "COMMIT" else row.committed_in) for row in differing
]
plot("9-torn", charts.bars(names, counts, "partitions without its outcome"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 10. Is the dump complete?
# MAGIC
# MAGIC Files with problems, and missing partitions of `__transaction_state`. While one is missing, txnlog cannot say "no
# MAGIC coordinator knows this producer id". Files that txnlog skips on purpose are not listed.

# COMMAND ----------

troubles = spark.sql("""
    SELECT file, problem, bytes_damaged, bytes_tail
    FROM dump_files
    WHERE bytes_damaged > 0 OR (problem IS NOT NULL AND bytes_skipped = 0 AND kind <> 'other')
    UNION ALL
    SELECT concat('__transaction_state-', wanted), 'not in the dump', 0, 0
    FROM (SELECT cluster, explode(sequence(0, coordinator_partitions - 1)) AS wanted FROM latest_run) AS expected
    LEFT ANTI JOIN dump_files
      ON dump_files.cluster = expected.cluster AND dump_files.topic = '__transaction_state'
     AND dump_files.partition = expected.wanted AND dump_files.kind = 'segment'
    ORDER BY file
""")
show("10. Is the dump complete?", troubles)

# COMMAND ----------

plot("10-coordinators", coverage.coordinators(report))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 11. Do the copies of a partition agree?
# MAGIC
# MAGIC If brokers were copied at different times, or a follower lags, their logs end at different offsets. A copy that
# MAGIC ends early may lack a marker. Look into the copy that was used.

# COMMAND ----------

lags = spark.sql("""
    WITH ends AS (
        SELECT cluster, topic, partition, log_dir, max(last_offset) + 1 AS log_end_offset
        FROM dump_files WHERE kind = 'segment' AND last_offset IS NOT NULL
        GROUP BY cluster, topic, partition, log_dir
    )
    SELECT cluster, topic, partition, count(*) AS copies,
           max_by(log_dir, struct(log_end_offset, log_dir)) AS longest,
           max(log_end_offset) - min(log_end_offset) AS offsets_missing
    FROM ends GROUP BY cluster, topic, partition
    HAVING copies > 1
    ORDER BY offsets_missing DESC, cluster, topic, partition
""")
show("11. Do the copies of a partition agree?", lags)

# COMMAND ----------

behind = lags.collect()
names = [f"{row.topic}-{row.partition}" for row in behind]
plot("11-copies", charts.bars(names, [row.offsets_missing for row in behind], "offsets that the shortest copy lacks"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 12. How did it change over the runs?
# MAGIC
# MAGIC One row per cluster and as-of, over all dumps in the tables. Of several runs over the same dump the last one counts.

# COMMAND ----------

compared = spark.sql("""
    SELECT cluster, as_of_to, open_transactions, late_transactions, abort_candidates, undetermined,
           coordinator_partitions_missing, longest_open_ms
    FROM (SELECT *, row_number() OVER (PARTITION BY cluster, as_of_to ORDER BY finished_at DESC) AS age FROM runs)
    WHERE age = 1
    ORDER BY cluster, as_of_to
""")
show("12. How did it change over the runs?", compared)

# COMMAND ----------

for cluster in report.latest:
    plot(f"12-runs-{len(plots)}", run_history.compared(report, cluster))
