# Databricks notebook source
# MAGIC %md
# MAGIC # Hanging Kafka transactions: ten questions about one dump
# MAGIC
# MAGIC Each question is answered twice, in SQL and in PySpark, with the same rows, and with a plot. The notebook reads
# MAGIC files and tables and runs `txnlog detect` if you let it. It never asks a Kafka cluster.
# MAGIC
# MAGIC | topic | questions |
# MAGIC |---|---|
# MAGIC | what to do now | 1 what hangs, 2 what it holds back |
# MAGIC | how it happened | 3 late writes, 4 one id's history, 6 what was open when, 7 how long others took, 8 who was fenced |
# MAGIC | how far to trust it | 5 is the dump complete, 9 do the copies agree |
# MAGIC | whether it gets worse | 10 history over runs |
# MAGIC
# MAGIC It runs on classic, standard and serverless compute with `txnlog` installed (`%pip install` of the wheel), and
# MAGIC outside Databricks as a script: `python jobs/notebooks/hanging_transactions.py`. There its parameters are the
# MAGIC variables `TXNLOG_DUMP`, `TXNLOG_TABLES`, `TXNLOG_DETECT`, `TXNLOG_TRANSACTIONAL_ID` and `TXNLOG_PLOTS`.
# MAGIC Plots need the extra `notebook`: `pip install 'txnlog[notebook]'`.
# MAGIC
# MAGIC | parameter | meaning |
# MAGIC |---|---|
# MAGIC | `dump` | folder of the dump, such as `/Volumes/main/kafka/dumps/2026-11-21` |
# MAGIC | `tables` | where the Delta tables are: a folder, a URI, or `catalog.schema` |
# MAGIC | `detect` | `yes`: run `txnlog detect` first; `no`: the tables already have this dump |
# MAGIC | `transactional_id` | the id of question 4; empty: that of the first hanging transaction |
# MAGIC | `plots` | outside a notebook: the folder for the plots |

# COMMAND ----------

import os
from pathlib import Path

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.report import charts, contents, coverage, nights, overview
from txnlog.sources import reading
from txnlog.spark.session import session
from txnlog.tables.layout import DUMP_FILES, OPEN_TRANSACTIONS, RUNS, Root

IN_DATABRICKS = "DATABRICKS_RUNTIME_VERSION" in os.environ
IN_NOTEBOOK = IN_DATABRICKS or "get_ipython" in globals()


def parameter(name: str, default: str) -> str:
    """A widget on Databricks, a variable of the environment elsewhere."""
    if IN_DATABRICKS:
        dbutils.widgets.text(name, default)
        return dbutils.widgets.get(name)
    return os.environ.get(f"TXNLOG_{name.upper()}", default)


def show(frame: DataFrame) -> None:
    """A table below the cell."""
    if IN_DATABRICKS:
        display(frame)
    else:
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
# MAGIC | `open_transactions` | its open transactions with cause, action and evidence, from the Delta table |
# MAGIC | `dump_files` | every file of the dump, every byte accounted for, read from the dump |
# MAGIC | `log` | the record batches of the copy of each partition that txnlog used, read from the dump |
# MAGIC | `transaction_states` | the same for the records of `__transaction_state` |
# MAGIC
# MAGIC The dump has one copy of a partition for each replica that was copied. Copies are never mixed: a lagging follower
# MAGIC lacks markers that its leader has. So `log` and `transaction_states` have only one copy of each partition.

# COMMAND ----------

PARTITION = ["cluster", "topic", "partition"]


def table(name: str) -> DataFrame:
    return spark.sql(f"SELECT * FROM {name}")


latest_run = (
    table(tables.sql_name(RUNS))
    .where(F.col("dump") == dump)
    .withColumn("age", F.row_number().over(Window.partitionBy("cluster").orderBy(F.desc("finished_at"))))
    .where("age = 1")
    .select("cluster", "as_of_from", "as_of_to", "coordinator_partitions")
)


def of_this_dump(rows: DataFrame) -> DataFrame:
    """The rows whose as-of lies within the latest run."""
    window = F.broadcast(latest_run.select("cluster", "as_of_from", "as_of_to"))
    return rows.join(window, ["cluster"]).where("as_of BETWEEN as_of_from AND as_of_to").drop("as_of_from", "as_of_to")


open_transactions = table(tables.sql_name(OPEN_TRANSACTIONS)).transform(of_this_dump)
copies = (
    table(tables.sql_name(DUMP_FILES))
    .transform(of_this_dump)
    .where("copy_chosen")
    .select("log_dir", *PARTITION)
    .dropDuplicates()
)
coordinators = copies.where("topic = '__transaction_state'").select(
    "log_dir", "cluster", F.col("partition").alias("coordinator_partition")
)
dump_files = reading.dump_files(spark, dump)
log = reading.batches(spark, dump).where("crc_valid").join(F.broadcast(copies), ["log_dir", *PARTITION], "left_semi")
transaction_states = reading.transaction_states(spark, dump).join(
    F.broadcast(coordinators), ["log_dir", "cluster", "coordinator_partition"], "left_semi"
)

# Input of the HTML report's figures: the latest run over each cluster in these tables.
report = contents.of_spark(spark, tables)

latest_run.createOrReplaceTempView("latest_run")
open_transactions.createOrReplaceTempView("open_transactions")
dump_files.createOrReplaceTempView("dump_files")
log.createOrReplaceTempView("log")
transaction_states.createOrReplaceTempView("transaction_states")

# COMMAND ----------

# MAGIC %md
# MAGIC ## 1. Which transactions hang, and what should you do?
# MAGIC
# MAGIC Only late ones. `late` is null if the age is unknown: those are shown, too. Abort only rows with the action ABORT,
# MAGIC and check the live cluster before you do.

# COMMAND ----------

hanging_sql = spark.sql("""
    SELECT topic, partition, start_offset, transactional_id, producer_id, cause, action, confidence, reason
    FROM open_transactions
    WHERE late IS NULL OR late
    ORDER BY action, topic, partition, start_offset
""")
show(hanging_sql)

# COMMAND ----------

hanging = (
    open_transactions.where("late IS NULL OR late")
    .select(
        "topic",
        "partition",
        "start_offset",
        "transactional_id",
        "producer_id",
        "cause",
        "action",
        "confidence",
        "reason",
    )
    .orderBy("action", "topic", "partition", "start_offset")
)
show(hanging)

# COMMAND ----------

plot("1-causes", overview.causes(report))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 2. What holds back each partition?
# MAGIC
# MAGIC Consumers with `isolation.level=read_committed` stop at the last stable offset: the start of the first open
# MAGIC transaction. When it ends, they go on to the next one. `open_behind` counts the open transactions after the first.

# COMMAND ----------

held_back_sql = spark.sql("""
    SELECT topic, partition, last_stable_offset, log_end_offset, held_back_records, held_back_since,
           min_by(struct(transactional_id, cause, action), start_offset) AS holder,
           count(*) - 1 AS open_behind
    FROM open_transactions
    GROUP BY ALL
    ORDER BY topic, partition
""")
show(held_back_sql)

# COMMAND ----------

held_back = (
    open_transactions.groupBy(
        "topic", "partition", "last_stable_offset", "log_end_offset", "held_back_records", "held_back_since"
    )
    .agg(
        F.min_by(F.struct("transactional_id", "cause", "action"), "start_offset").alias("holder"),
        (F.count("*") - 1).alias("open_behind"),
    )
    .orderBy("topic", "partition")
)
show(held_back)

# COMMAND ----------

plot("2-held-back", overview.held_back(report))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 3. Which producers wrote after their transaction's end?
# MAGIC
# MAGIC Data after a producer id's last marker in a partition, at no newer epoch, while its coordinator has no ongoing
# MAGIC transaction that lists the partition. Young ones are included: a late write is one immediately.

# COMMAND ----------

late_writes_sql = spark.sql("""
    WITH marker AS (
        SELECT cluster, topic, partition, producer_id,
               max(base_offset) AS marker_offset,
               max_by(marker_type, base_offset) AS ended_by,
               max_by(producer_epoch, base_offset) AS marker_epoch
        FROM log WHERE marker_type IS NOT NULL
        GROUP BY cluster, topic, partition, producer_id
    ), under_way AS (
        SELECT cluster, current.producer_id, explode(current.topic_partitions) AS listed
        FROM (SELECT cluster, max_by(struct(state, producer_id, topic_partitions), offset) AS current
              FROM transaction_states WHERE problem IS NULL GROUP BY cluster, transactional_id)
        WHERE current.state IN ('Ongoing', 'PrepareCommit', 'PrepareAbort')
    )
    SELECT data.topic, data.partition, data.producer_id, data.producer_epoch, ended_by, marker_offset,
           min(base_offset) AS first_offset, sum(record_count) AS records
    FROM log AS data
    JOIN marker USING (cluster, topic, partition, producer_id)
    LEFT ANTI JOIN under_way
      ON data.cluster = under_way.cluster AND data.producer_id = under_way.producer_id
     AND data.topic = under_way.listed.topic AND data.partition = under_way.listed.partition
    WHERE data.is_transactional AND NOT data.is_control
      AND data.base_offset > marker_offset AND data.producer_epoch <= marker_epoch
    GROUP BY data.topic, data.partition, data.producer_id, data.producer_epoch, ended_by, marker_offset
    ORDER BY topic, partition, first_offset
""")
show(late_writes_sql)

# COMMAND ----------

PRODUCER = [*PARTITION, "producer_id"]
markers = (
    log.where("marker_type IS NOT NULL")
    .groupBy(*PRODUCER)
    .agg(
        F.max("base_offset").alias("marker_offset"),
        F.max_by("marker_type", "base_offset").alias("ended_by"),
        F.max_by("producer_epoch", "base_offset").alias("marker_epoch"),
    )
)
under_way = (
    transaction_states.where("problem IS NULL")
    .groupBy("cluster", "transactional_id")
    .agg(F.max_by(F.struct("state", "producer_id", "topic_partitions"), "offset").alias("current"))
    .where("current.state IN ('Ongoing', 'PrepareCommit', 'PrepareAbort')")
    .select("cluster", "current.producer_id", F.explode("current.topic_partitions").alias("listed"))
    .select("cluster", "producer_id", "listed.topic", "listed.partition")
)
late_writes = (
    log.where("is_transactional AND NOT is_control")
    .select(*PRODUCER, "producer_epoch", "base_offset", "record_count")
    .join(markers, PRODUCER)
    .where("base_offset > marker_offset AND producer_epoch <= marker_epoch")
    .join(under_way, PRODUCER, "left_anti")
    .groupBy("topic", "partition", "producer_id", "producer_epoch", "ended_by", "marker_offset")
    .agg(F.min("base_offset").alias("first_offset"), F.sum("record_count").alias("records"))
    .orderBy("topic", "partition", "first_offset")
)
show(late_writes)

# COMMAND ----------

late = late_writes.collect()
names = [f"{row.topic}-{row.partition} at {row.first_offset}" for row in late]
plot("3-late-writes", charts.bars(names, [row.records for row in late], "records written after the end"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 4. What did the coordinator record about one transactional id, over time?
# MAGIC
# MAGIC In the order of offsets, because timestamps can go backwards. Records that compaction removed are missing.

# COMMAND ----------

transactional_id = parameter("transactional_id", "") or next(
    (row.transactional_id for row in hanging.where("transactional_id IS NOT NULL").take(1)), ""
)
wanted = spark.createDataFrame([(transactional_id,)], "transactional_id string")
wanted.createOrReplaceTempView("wanted")
history_sql = spark.sql("""
    SELECT offset, timestamp_millis(last_update_timestamp) AS written, state, producer_id, producer_epoch,
           array_join(transform(topic_partitions, each -> concat_ws('-', each.topic, each.partition)), ' ') AS listed,
           is_tombstone
    FROM transaction_states JOIN wanted USING (transactional_id)
    ORDER BY offset
""")
show(history_sql)

# COMMAND ----------

names = F.transform("topic_partitions", lambda each: F.concat_ws("-", each.topic, each.partition.cast("string")))
history = (
    transaction_states.where(F.col("transactional_id") == transactional_id)
    .select(
        "offset",
        F.timestamp_millis("last_update_timestamp").alias("written"),
        "state",
        "producer_id",
        "producer_epoch",
        F.array_join(names, " ").alias("listed"),
        "is_tombstone",
    )
    .orderBy("offset")
)
show(history)

# COMMAND ----------

states = [(row.written, row.state) for row in history.collect() if row.state is not None]
plot("4-history", charts.steps({transactional_id: states}, "state"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 5. Is the dump complete?
# MAGIC
# MAGIC Files with problems, and missing partitions of `__transaction_state`. While one is missing, txnlog cannot say "no
# MAGIC coordinator knows this producer id". Files that txnlog skips on purpose are not listed.

# COMMAND ----------

troubles_sql = spark.sql("""
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
show(troubles_sql)

# COMMAND ----------

is_trouble = "bytes_damaged > 0 OR (problem IS NOT NULL AND bytes_skipped = 0 AND kind <> 'other')"
expected = latest_run.select("cluster", F.explode(F.expr("sequence(0, coordinator_partitions - 1)")).alias("partition"))
present = dump_files.where("topic = '__transaction_state' AND kind = 'segment'").select("cluster", "partition")
missing = expected.join(present, ["cluster", "partition"], "left_anti").select(
    F.concat(F.lit("__transaction_state-"), "partition").alias("file"),
    F.lit("not in the dump").alias("problem"),
    F.lit(0).cast("bigint").alias("bytes_damaged"),
    F.lit(0).cast("bigint").alias("bytes_tail"),
)
troubles = (
    dump_files.where(is_trouble)
    .select("file", "problem", "bytes_damaged", "bytes_tail")
    .unionByName(missing)
    .orderBy("file")
)
show(troubles)

# COMMAND ----------

plot("5-coordinators", coverage.coordinators(report))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 6. How many transactions were open when?
# MAGIC
# MAGIC Each transaction counts from its first batch to its marker. Markers have broker timestamps, data has producer
# MAGIC timestamps: if a start is earlier than the latest marker before it in the same log, that marker's time replaces it.
# MAGIC If a line does not end at zero, that many transactions are still open at the end of the dump.

# COMMAND ----------

transactions_sql = spark.sql("""
    WITH numbered AS (
        SELECT *,
               count(marker_type) OVER (
                   PARTITION BY cluster, topic, partition, producer_id ORDER BY base_offset
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS number,
               max(CASE WHEN marker_type IS NOT NULL THEN max_timestamp END) OVER (
                   PARTITION BY cluster, topic, partition ORDER BY base_offset) AS broker_time
        FROM log
        WHERE is_transactional AND producer_id >= 0 AND (NOT is_control OR marker_type IS NOT NULL)
    ), stretched AS (
        SELECT cluster, topic, partition, producer_id, number,
               min(CASE WHEN marker_type IS NULL THEN greatest(max_timestamp, broker_time) END) AS opened,
               min(CASE WHEN marker_type IS NOT NULL THEN max_timestamp END) AS closed
        FROM numbered GROUP BY ALL
    )
    SELECT cluster, topic, partition, producer_id,
           least(opened, closed, unix_millis(as_of_to)) AS opened, closed
    FROM stretched JOIN latest_run USING (cluster)
    WHERE least(opened, closed, unix_millis(as_of_to)) >= 0
""")
transactions_sql.createOrReplaceTempView("transactions")
open_over_time_sql = spark.sql("""
    WITH change AS (
        SELECT cluster, opened AS moment, 1 AS change FROM transactions
        UNION ALL SELECT cluster, closed, -1 FROM transactions WHERE closed IS NOT NULL
    ), bounds AS (
        SELECT greatest(1000, (max(moment) - min(moment)) DIV 500) AS width FROM change
    )
    SELECT cluster, timestamp_millis(moment - moment % width) AS moment,
           sum(sum(change)) OVER (PARTITION BY cluster ORDER BY moment - moment % width) AS open
    FROM change CROSS JOIN bounds
    GROUP BY cluster, moment - moment % width
    ORDER BY cluster, moment
""")
show(open_over_time_sql)

# COMMAND ----------

before = Window.partitionBy(*PRODUCER).orderBy("base_offset").rowsBetween(Window.unboundedPreceding, -1)
in_log = Window.partitionBy(*PARTITION).orderBy("base_offset").rowsBetween(Window.unboundedPreceding, 0)
marker_time = F.when(F.col("marker_type").isNotNull(), F.col("max_timestamp"))
data_time = F.when(F.col("marker_type").isNull(), F.greatest("max_timestamp", "broker_time"))
transactions = (
    log.where("is_transactional AND producer_id >= 0 AND (NOT is_control OR marker_type IS NOT NULL)")
    .withColumn("number", F.count("marker_type").over(before))
    .withColumn("broker_time", F.max(marker_time).over(in_log))
    .groupBy(*PRODUCER, "number")
    .agg(F.min(data_time).alias("opened"), F.min(marker_time).alias("closed"))
    .join(F.broadcast(latest_run), ["cluster"])
    .withColumn("opened", F.least("opened", "closed", F.unix_millis("as_of_to")))
    .where("opened >= 0")
)
first, last = transactions.agg(F.min("opened"), F.max(F.greatest("opened", "closed"))).first()
width = max(1000, ((last or 0) - (first or 0)) // 500)
changes = transactions.select("cluster", F.col("opened").alias("moment"), F.lit(1).alias("change")).unionByName(
    transactions.where("closed IS NOT NULL").select(
        "cluster", F.col("closed").alias("moment"), F.lit(-1).alias("change")
    )
)
so_far = Window.partitionBy("cluster").orderBy("moment").rowsBetween(Window.unboundedPreceding, 0)
open_over_time = (
    changes.withColumn("moment", F.col("moment") - F.col("moment") % width)
    .groupBy("cluster", "moment")
    .agg(F.sum("change").alias("change"))
    .select("cluster", F.timestamp_millis("moment").alias("moment"), F.sum("change").over(so_far).alias("open"))
    .orderBy("cluster", "moment")
)
show(open_over_time)

# COMMAND ----------

lines: dict[str, list] = {}
for point in open_over_time.collect():
    lines.setdefault(point.cluster, []).append((point.moment, point.open))
plot("6-open-over-time", charts.steps(lines, "open transactions"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 7. How long did the transactions that ended take?
# MAGIC
# MAGIC From the first batch to the marker, per topic. Compare hanging transactions with these durations: a topic whose
# MAGIC transactions take seconds does not need a timeout of fifteen minutes.

# COMMAND ----------

durations_sql = spark.sql("""
    SELECT topic, count(*) AS ended, min(closed - opened) AS shortest_ms,
           percentile_approx(closed - opened, 0.5) AS median_ms, max(closed - opened) AS longest_ms
    FROM transactions WHERE closed IS NOT NULL
    GROUP BY topic ORDER BY longest_ms DESC, topic
""")
show(durations_sql)

# COMMAND ----------

taken = F.col("closed") - F.col("opened")
durations = (
    transactions.where("closed IS NOT NULL")
    .groupBy("topic")
    .agg(
        F.count("*").alias("ended"),
        F.min(taken).alias("shortest_ms"),
        F.percentile_approx(taken, 0.5).alias("median_ms"),
        F.max(taken).alias("longest_ms"),
    )
    .orderBy(F.desc("longest_ms"), "topic")
)
show(durations)

# COMMAND ----------

slowest = durations.collect()
plot("7-durations", charts.bars([row.topic for row in slowest], [row.longest_ms for row in slowest], "longest, ms"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 8. Which producers were fenced or replaced?
# MAGIC
# MAGIC The coordinator raises the epoch of an id whenever a producer starts again, and, with transaction version 2, after
# MAGIC each transaction. An id with many epochs or several producer ids and few transactions restarts often, or runs twice
# MAGIC at the same time: that creates zombies.

# COMMAND ----------

epochs_sql = spark.sql("""
    SELECT cluster, transactional_id, count(DISTINCT producer_id) AS producer_ids,
           count(DISTINCT producer_id, producer_epoch) AS epochs,
           count_if(state IN ('CompleteCommit', 'CompleteAbort')) AS transactions
    FROM transaction_states WHERE problem IS NULL AND NOT is_tombstone
    GROUP BY cluster, transactional_id
    HAVING epochs > 1
    ORDER BY epochs DESC, cluster, transactional_id
""")
show(epochs_sql)

# COMMAND ----------

epochs = (
    transaction_states.where("problem IS NULL AND NOT is_tombstone")
    .groupBy("cluster", "transactional_id")
    .agg(
        F.count_distinct("producer_id").alias("producer_ids"),
        F.count_distinct("producer_id", "producer_epoch").alias("epochs"),
        F.count_if(F.col("state").isin("CompleteCommit", "CompleteAbort")).alias("transactions"),
    )
    .where("epochs > 1")
    .orderBy(F.desc("epochs"), "cluster", "transactional_id")
)
show(epochs)

# COMMAND ----------

fenced = epochs.collect()
plot("8-epochs", charts.bars([row.transactional_id for row in fenced], [row.epochs for row in fenced], "epochs"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 9. Do the copies of a partition agree?
# MAGIC
# MAGIC If brokers were copied at different times, or a follower lags, their logs end at different offsets. A copy that
# MAGIC ends early may lack a marker. Look into the copy that was used.

# COMMAND ----------

lags_sql = spark.sql("""
    WITH ends AS (
        SELECT cluster, topic, partition, log_dir, max(last_offset) + 1 AS log_end_offset
        FROM dump_files WHERE kind = 'segment' AND last_offset IS NOT NULL
        GROUP BY cluster, topic, partition, log_dir
    )
    SELECT cluster, topic, partition, count(*) AS copies,
           max_by(log_dir, struct(log_end_offset, log_dir)) AS longest,
           max(log_end_offset) - min(log_end_offset) AS offsets_behind
    FROM ends GROUP BY cluster, topic, partition
    HAVING copies > 1
    ORDER BY offsets_behind DESC, cluster, topic, partition
""")
show(lags_sql)

# COMMAND ----------

lags = (
    dump_files.where("kind = 'segment' AND last_offset IS NOT NULL")
    .groupBy(*PARTITION, "log_dir")
    .agg((F.max("last_offset") + 1).alias("log_end_offset"))
    .groupBy(*PARTITION)
    .agg(
        F.count("*").alias("copies"),
        F.max_by("log_dir", F.struct("log_end_offset", "log_dir")).alias("longest"),
        (F.max("log_end_offset") - F.min("log_end_offset")).alias("offsets_behind"),
    )
    .where("copies > 1")
    .orderBy(F.desc("offsets_behind"), *PARTITION)
)
show(lags)

# COMMAND ----------

behind = lags.collect()
names = [f"{row.topic}-{row.partition}" for row in behind]
plot("9-copies", charts.bars(names, [row.offsets_behind for row in behind], "offsets that the shortest copy lacks"))

# COMMAND ----------

# MAGIC %md
# MAGIC ## 10. How did it change over the runs?
# MAGIC
# MAGIC One row per cluster and as-of, over all dumps in the tables. Of several runs over the same dump the last one counts.

# COMMAND ----------

table(tables.sql_name(RUNS)).createOrReplaceTempView("runs")
compared_sql = spark.sql("""
    SELECT cluster, as_of_to, open_transactions, late_transactions, abort_candidates, undetermined,
           coordinator_partitions_missing, longest_open_ms
    FROM (SELECT *, row_number() OVER (PARTITION BY cluster, as_of_to ORDER BY finished_at DESC) AS age FROM runs)
    WHERE age = 1
    ORDER BY cluster, as_of_to
""")
show(compared_sql)

# COMMAND ----------

same_dump = Window.partitionBy("cluster", "as_of_to").orderBy(F.desc("finished_at"))
compared = (
    table(tables.sql_name(RUNS))
    .withColumn("age", F.row_number().over(same_dump))
    .where("age = 1")
    .select(
        "cluster",
        "as_of_to",
        "open_transactions",
        "late_transactions",
        "abort_candidates",
        "undetermined",
        "coordinator_partitions_missing",
        "longest_open_ms",
    )
    .orderBy("cluster", "as_of_to")
)
show(compared)

# COMMAND ----------

for cluster in report.latest:
    plot(f"10-nights-{len(plots)}", nights.compared(report, cluster))
