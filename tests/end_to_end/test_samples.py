"""The main job on the real dumps of `data/samples`, against the truth that their recipes wrote down."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyarrow import parquet
from pyspark.sql import SparkSession

from tests.pages import ROOT, outputs
from tests.terminal import seen
from tests.writer import ABORT, copied_at, listing, marker
from txnlog.config import detect_options
from txnlog.detection.causes import Action
from txnlog.dump.inventory import inventory
from txnlog.dump.manifest import NAME as MANIFEST
from txnlog.errors import DumpError
from txnlog.job.main import run
from txnlog.report import (
    abort_candidates,
    explanations,
    fencing_list,
    id_timeline,
    kafka_listing,
    late_transactions,
    partition_list,
    producers,
    record_answer,
    record_output,
    remedy_list,
    transaction_list,
    transaction_summary,
)
from txnlog.report.dump_states import dump_states
from txnlog.report.partition_findings import Recorded
from txnlog.report.selection import Selection
from txnlog.report.table_rows import rows
from txnlog.report.transaction_query import Wanted
from txnlog.sources import partition_transactions
from txnlog.sources.log_copy import Place
from txnlog.sources.record_outcome import record_outcomes
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    COORDINATOR_RECORDS,
    DUMP_FILES,
    OPEN_TRANSACTIONS,
    PRODUCER_STATES,
    RUNS,
    TABLES,
    TRANSACTIONAL_IDS,
    Root,
    Table,
)

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
TRUTHS = {path.parent.name: json.loads(path.read_text()) for path in sorted(SAMPLES.glob("*/truth.json"))}
OF_3_5_2 = "cluster = 'sample-3.5.2'"
STATED = "transaction_state_partitions = 5\n"
UNDATED = "cluster = 'sample-3.5.2-torn' AND topic = 'late-write' AND partition = 1"
COMPARED = ("start_offset", "producer_epoch", "transactional_id", "late", "cause", "action")
Key = tuple[str, int, int]


def detected(spark: SparkSession, dump: Path, tables: Path, **options: Any) -> Root:
    run(spark, detect_options({"dump": str(dump), "tables": str(tables), **options}))
    return Root(str(tables))


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and times of all files below a folder, and of the folders themselves."""
    return {
        str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for path in [folder, *folder.rglob("*")]
    }


@pytest.fixture(scope="module")
def before() -> dict[str, tuple[bytes, int]]:
    return contents(SAMPLES)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, before: object, tmp_path_factory: pytest.TempPathFactory) -> Root:
    return detected(spark, SAMPLES, tmp_path_factory.mktemp("samples"))


def facts(transactions: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    return {
        (each["topic"], each["partition"], each["producer_id"]): {name: each[name] for name in COMPARED}
        for each in transactions
    }


def places(transactions: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {tuple(each[name] for name in ("cluster", "topic", "partition", "start_offset")) for each in transactions}


def stating(line: str, root: Path) -> Path:
    """A copy of a sample with 5 coordinator partitions, of which its manifest says what is given."""
    dump = shutil.copytree(SAMPLES / "kafka-4.3.0", root)
    manifest = (dump / MANIFEST).read_text()
    assert STATED in manifest
    (dump / MANIFEST).write_text(manifest.replace(STATED, line))
    return dump


def listed_before_the_copy(root: Path, undated: dict[str, Any]) -> None:
    """A copy of a sample, of which a listing of before the copy has a partition whose end no broker dated."""
    dump = shutil.copytree(SAMPLES / "kafka-3.5.2-torn", root)
    modified = int(undated["last_timestamp"].timestamp() * 1000)
    log_dir = dump / Path(undated["log_dir"]).name
    listing(log_dir, folders="late-write-1", modified=modified)
    copied_at(log_dir, int(undated["as_of"].timestamp() * 1000))


@pytest.fixture(scope="module")
def variants(spark: SparkSession, tables: Root, tmp_path_factory: pytest.TempPathFactory) -> Root:
    """Three samples with a difference each, judged by one run."""
    folder = tmp_path_factory.mktemp("variants")
    stating("", folder / "dump" / "unstated")
    (undated,) = rows(tables, OPEN_TRANSACTIONS, UNDATED)
    listed_before_the_copy(folder / "dump" / "listed", undated)
    lacking = shutil.copytree(SAMPLES / "kafka-3.5.2", folder / "dump" / "lacking")
    shutil.rmtree(lacking / "broker-1" / "__transaction_state-3")
    return detected(spark, folder / "dump", folder / "tables")


def test_how_many_coordinator_partitions_there_are_is_proved_by_the_ids(tables: Root, variants: Root) -> None:
    of_sample = "cluster = 'sample-4.3.0'"
    assert [row["coordinator_partitions"] for row in rows(variants, RUNS, of_sample)] == [5]
    found, wanted = (facts(rows(each, OPEN_TRANSACTIONS, of_sample)) for each in (variants, tables))
    assert found == wanted


@pytest.mark.processes
def test_a_number_of_coordinator_partitions_that_the_ids_contradict_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(DumpError, match=r"said to have 7 partitions.*: \S+.*; the ids allow 5: correct"):
        detected(spark, stating(STATED.replace("5", "7"), tmp_path / "dump"), tmp_path / "tables")


def test_a_listing_of_before_the_copy_dates_the_end_of_a_quiet_partition(tables: Root, variants: Root) -> None:
    """Its broker was copied minutes after the coordinators, and no broker dated what follows its data."""
    (undated,) = rows(tables, OPEN_TRANSACTIONS, UNDATED)
    assert (undated["cause"], undated["lacking"]) == ("SKEW", "as_of_is_confirmed")
    (row,) = rows(variants, OPEN_TRANSACTIONS, UNDATED)
    assert (row["cause"], row["action"]) == ("LATE_WRITE_AFTER_END", "ABORT")


def test_a_missing_coordinator_partition_yields_no_abort_for_an_unknown_producer(variants: Root) -> None:
    (unknown,) = rows(variants, OPEN_TRANSACTIONS, f"topic = 'unknown-producer' AND {OF_3_5_2}")
    assert (unknown["cause"], unknown["action"]) == ("COVERAGE_GAP", "UNDETERMINED")
    assert "partitions of __transaction_state are missing: 3" in unknown["reason"]
    assert rows(variants, ABORT_CANDIDATES, f"topic = 'unknown-producer' AND {OF_3_5_2}") == []


def test_what_is_needed_says_the_same_of_every_sample_as_all_that_there_is(
    spark: SparkSession, tables: Root, tmp_path: Path
) -> None:
    everything = detected(spark, SAMPLES, tmp_path, full=True)
    of_one_run = {"run_id", "detected_at"}
    for table in (OPEN_TRANSACTIONS, ABORT_CANDIDATES):
        needed, whole = (
            sorted(repr({name: row[name] for name in row if name not in of_one_run}) for row in rows(root, table))
            for root in (tables, everything)
        )
        assert needed
        assert needed == whole


def version(root: Root, table: Table) -> int:
    return DeltaTable(root.path_of(table)).version()


def test_a_run_leaves_the_dump_as_it_was(before: dict[str, tuple[bytes, int]], tables: Root) -> None:
    assert contents(SAMPLES) == before


@pytest.mark.parametrize("sample", TRUTHS)
def test_each_sample_has_exactly_the_open_transactions_that_its_recipe_made(tables: Root, sample: str) -> None:
    truth = TRUTHS[sample]
    found = rows(tables, OPEN_TRANSACTIONS, f"cluster = '{truth['cluster']}'")
    assert facts(found) == facts(truth["open_transactions"])


@pytest.mark.parametrize("sample", TRUTHS)
def test_find_hanging_prints_the_late_ones_as_json(tables: Root, sample: str) -> None:
    truth = TRUTHS[sample]
    printed = json.loads(late_transactions.rendered(late_transactions.late_transactions(tables), "json"))
    of_sample = [row for row in printed if row["cluster"] == truth["cluster"]]
    assert facts(of_sample) == facts([each for each in truth["open_transactions"] if each["late"]])


def test_the_abort_list_has_the_late_aborts_of_the_truth_and_nothing_else(tables: Root) -> None:
    expected = {
        (truth["cluster"], each["topic"], each["partition"], each["start_offset"])
        for truth in TRUTHS.values()
        for each in truth["open_transactions"]
        if each["late"] and each["action"] == "ABORT"
    }
    listed = abort_candidates.open_candidates(tables)
    assert places(listed) == expected
    # Each can be compared with the running cluster, or no script could have it.
    for cluster in {truth["cluster"] for truth in TRUTHS.values()}:
        of_cluster = [row for row in listed if row["cluster"] == cluster]
        states = dump_states(tables, of_cluster)
        assert all(states.producer(row) is not None and states.owner(row) is None for row in of_cluster)


def test_committed_data_is_never_offered_for_abort(tables: Root) -> None:
    lost_commits = rows(tables, OPEN_TRANSACTIONS, "cause = 'MARKER_LOST_COMMIT'")
    assert lost_commits
    assert {row["action"] for row in lost_commits} == {"KEEP"}
    listed = abort_candidates.open_candidates(tables)
    assert not places(lost_commits) & places(listed)


def test_every_byte_of_every_file_is_accounted_for(tables: Root) -> None:
    files = rows(tables, DUMP_FILES)
    assert len(files) > 500
    for row in files:
        parts = ("bytes_parsed", "bytes_tail", "bytes_damaged", "bytes_skipped")
        assert sum(row[part] for part in parts) == row["size_in_bytes"], row["file"]
        assert row["bytes_damaged"] == 0, row


def test_one_copy_of_each_partition_is_chosen(tables: Root) -> None:
    lagging = rows(tables, DUMP_FILES, "topic = 'lagging' AND kind = 'segment' AND cluster = 'sample-3.5.2'")
    assert len(lagging) == 2
    (chosen,) = [row for row in lagging if row["copy_chosen"]]
    assert chosen["last_offset"] == max(row["last_offset"] for row in lagging)
    assert chosen["chosen_because"] in ("highest log end offset", "highest last leader epoch")


def test_evidence_names_files_that_are_there(tables: Root) -> None:
    for row in rows(tables, OPEN_TRANSACTIONS):
        for name in ("opened_file", "last_marker_file", "evidence_file"):
            assert row[name] is None or (SAMPLES / row[name]).is_file(), row
    assert all(row["evidence_file"] for row in rows(tables, OPEN_TRANSACTIONS, "transactional_id IS NOT NULL"))


def test_runs_has_a_row_a_cluster(tables: Root) -> None:
    runs = {row["cluster"]: row for row in rows(tables, RUNS)}
    assert set(runs) == {truth["cluster"] for truth in TRUTHS.values()}
    for truth in TRUTHS.values():
        run_row, late = runs[truth["cluster"]], [each for each in truth["open_transactions"] if each["late"]]
        assert run_row["open_transactions"] == len(truth["open_transactions"])
        assert run_row["partitions_with_late_transactions"] == len({(e["topic"], e["partition"]) for e in late})
        assert run_row["as_of_sources"] == ["manifest"]
        assert len(run_row["input_digest"]) == 64
    assert runs["sample-3.5.2-torn"]["coordinator_partitions_missing"] == 1


def test_comments_reach_describe_table_and_checks_hold(spark: SparkSession, tables: Root) -> None:
    described = spark.sql(f"DESCRIBE TABLE {tables.sql_name(ABORT_CANDIDATES)}").collect()
    comments = {row["col_name"]: row["comment"] for row in described}
    assert comments["start_offset"] == "Start of the transaction: --start-offset."
    properties = DeltaTable(tables.path_of(ABORT_CANDIDATES)).metadata().configuration
    assert "MARKER_LOST_COMMIT" in properties["delta.constraints.only_aborts"]


def test_list_has_the_ids_that_the_coordinators_know_and_not_the_one_that_expired(tables: Root) -> None:
    known = {row["transactional_id"]: row for row in kafka_listing.states(tables, "sample-4.3.0-stopped")}
    assert "expired-id" not in known
    stuck = known["stuck-ongoing-id"]
    assert (stuck["state"], stuck["broker"], stuck["is_certain"]) == ("Ongoing", "1", True)
    assert {each["topic"] for each in stuck["topic_partitions"]} == {"stuck-ongoing"}
    assert stuck["duration_ms"] == (stuck["as_of"] - stuck["start_timestamp"]).total_seconds() * 1000
    assert (SAMPLES / stuck["file"]).is_file()
    assert {row["duration_ms"] for row in known.values() if row["state"].startswith(("Empty", "Complete"))} == {None}


def test_durations_and_aborts_are_those_of_the_records_themselves(tables: Root) -> None:
    """Record by record, in plain Python; the coordinators of the samples wrote every record with a batch of its own."""
    by_start: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows(tables, COORDINATOR_RECORDS, "start_timestamp IS NOT NULL", "coordinator_partition, offset"):
        by_start.setdefault((row["cluster"], row["transactional_id"], row["start_timestamp"]), []).append(row)
    ended: dict[tuple[str, str], list[int]] = {}
    aborted = Counter[tuple[str, str]]()
    for (cluster, name, start), of_transaction in by_start.items():
        last = of_transaction[-1]
        if last["state"].startswith("Complete"):
            duration = (last["append_timestamp"] - start) // timedelta(milliseconds=1)
            ended.setdefault((cluster, name), []).append(duration)
            aborted[cluster, name] += last["state"] == "CompleteAbort"
    found = transaction_summary.summary(tables, Wanted(), "transactional-id")
    summed_up = {(row["cluster"], row["transactional_id"]): row for row in found if row["measured"]}
    assert {key: (row["measured"], row["aborted"]) for key, row in summed_up.items()} == {
        key: (len(durations), aborted[key]) for key, durations in ended.items()
    }
    assert {key: row["max_ms"] for key, row in summed_up.items()} == {key: max(each) for key, each in ended.items()}
    assert {key: row["p50_ms"] for key, row in summed_up.items()} == {
        key: sorted(each)[(len(each) - 1) // 2] for key, each in ended.items()
    }
    assert sum(aborted.values()) > 20


def test_what_coordinators_have_under_way_is_listed_as_open(tables: Root) -> None:
    listed = transaction_list.transactions(tables, Wanted()).rows
    under_way = {(row["cluster"], row["transactional_id"]) for row in listed if row["under_way"]}
    known = [row for row in kafka_listing.states(tables) if row["state"] in kafka_listing.UNDER_WAY]
    # One that no whole range shows is not in the archive.
    assert under_way
    assert under_way <= {(row["cluster"], row["transactional_id"]) for row in known}
    shop = {row["transactional_id"] for row in known if row["cluster"] == "shop"}
    assert {name for cluster, name in under_way if cluster == "shop"} == shop == {"stock-sync-2", "checkout-3"}


def test_the_page_shows_what_a_terminal_shows_of_past_transactions(tables: Root) -> None:
    slow, of_shop = Wanted("shop", longer_than_ms=500), Wanted("shop")
    listed = transaction_list.transactions(tables, slow)
    summed_up = transaction_summary.summary(tables, of_shop, "topic")
    following = transaction_summary.following(summed_up, "topic", "build/tables", of_shop)
    of_id = id_timeline.timeline(tables, Wanted("shop", "checkout-7"))
    place = Place("inventory", 1)
    cluster, copies = record_outcomes(inventory(ROOT / "data/samples/shop"), place, 191)
    of_record = record_answer.answered(cluster, place, 191, copies, tables)
    dump, payments = "data/samples/shop", Place("payments", 1)
    of_log = partition_transactions.transactions(inventory(ROOT / dump), payments)
    latest = partition_list.found_in(of_log, partition_list.Wanted(), Recorded(tables, "shop", payments), 3)
    shown = [
        transaction_list.rendered(listed, "table", 80, "build/tables", slow),
        transaction_summary.rendered(summed_up, "table", "topic", 100, following),
        id_timeline.rendered(of_id, "table", 100, "build/tables"),
        fencing_list.rendered(fencing_list.fencings(tables, Wanted("shop")), "table", 100, "build/tables"),
        partition_list.rendered(latest, "table", 160, dump),
        record_output.rendered(of_record, "table", 100, "build/tables"),
    ]
    assert [*outputs(ROOT / "docs/history.md").values()] == [seen(each) for each in shown]


def test_markers_are_those_of_the_transactions_that_coordinators_recorded(tables: Root) -> None:
    dump, found = inventory(SAMPLES / "shop"), Counter[tuple[Any, ...]]()
    for topic, partition in sorted({(file.topic, file.partition) for file in dump.files if file.topic}):
        place = Place(topic, partition or 0)
        if topic in ("__transaction_state", "__cluster_metadata"):
            continue
        copy, *_ = partition_transactions.transactions(dump, place)
        rows = [row for some in copy.rows for row in some.to_pylist()]
        for row in Recorded(tables, "shop", place).joined(rows):
            found[row["outcome"], row["recorded_outcome"], row["matched_by"], *row["findings"]] += 1
    assert found["COMMIT", "COMMIT", "TIME"] > 300
    assert found["ABORT", "ABORT", "TIME"] > 20
    # The payment whose marker was lost.
    assert found.pop(("OPEN", None, None, "MARKER_LOST")) == 1
    assert {*found} <= {("COMMIT", "COMMIT", "TIME"), ("ABORT", "ABORT", "TIME"), ("OPEN", None, None)}


@pytest.mark.parametrize("sample", ["sample-3.5.2", "sample-4.3.0"])
def test_a_timeline_shows_whom_a_newer_producer_fenced(tables: Root, sample: str) -> None:
    """The recipe starts another producer of the id while the transaction of epoch 2 is open."""
    events = id_timeline.timeline(tables, Wanted(sample, "fenced-id")).events
    assert [(row["event"], row["ended_by"], row["producer_epoch"], row["fenced_epoch"]) for row in events] == [
        ("STARTED", None, 0, None),
        ("STARTED", None, 1, 0),
        ("STARTED", None, 2, 1),
        ("ABORT", "FENCING", 2, 2),
        ("STARTED", None, 4, 3),
    ]
    found = fencing_list.fencings(tables, Wanted(sample, "fenced-id")).rows
    assert [(row["fenced_by"], row["fenced_epoch"], row["producer_epoch"]) for row in found] == [
        ("NEW_PRODUCER", 0, 1),
        ("NEW_PRODUCER", 1, 2),
        ("FENCING", 2, 4),
    ]


@pytest.mark.parametrize("sample", TRUTHS)
def test_describe_producers_has_what_is_open_and_whose_it_is(tables: Root, sample: str) -> None:
    truth = TRUTHS[sample]
    for each in truth["open_transactions"]:
        shown = producers.producers(tables, each["topic"], each["partition"], truth["cluster"])
        starts = {row["producer_id"]: row["current_txn_start_offset"] for row in shown}
        assert starts[each["producer_id"]] == each["start_offset"]


@pytest.mark.parametrize("sample", TRUTHS)
def test_explain_tells_the_story_of_every_open_transaction(tables: Root, sample: str) -> None:
    truth = TRUTHS[sample]
    for each in truth["open_transactions"]:
        found = explanations.explained(tables, each["topic"], each["partition"], each["producer_id"], truth["cluster"])
        [explanation] = found.of_transactions
        assert explanation.why.startswith(each["cause"])
        commands = [command for step in explanation.remedy.steps for command in step.commands]
        assert any("abort-list" in command for command in commands) == (each["action"] == "ABORT")
        assert all((SAMPLES / event.file).is_file() for event in explanation.events if event.file is not None)


def test_each_open_transaction_has_its_remedy_in_the_table(tables: Root) -> None:
    option = f"--tables {tables.text}"
    found = [
        each for truth in TRUTHS.values() for each in remedy_list.remedied(tables, Selection(cluster=truth["cluster"]))
    ]
    assert {each.transaction["action"] for each in found} == set(Action)
    for each in found:
        said = remedy_list.as_text(each.remedy).replace(option, '--tables "$TXNLOG_TABLES"')
        assert each.transaction["remedy"] == said


def test_times_are_kept_in_microseconds(tables: Root) -> None:
    """INT96, Spark's own, counts nanoseconds: other readers turn the year 2300 into 1715."""
    for file in Path(tables.text).rglob("*.parquet"):
        schema = parquet.ParquetFile(file).schema
        types = {schema.column(index).physical_type for index in range(len(schema))}
        assert "INT96" not in types, file


def test_whose_a_producer_id_is_stays_known(tables: Root) -> None:
    known = rows(tables, TRANSACTIONAL_IDS, "cluster = 'sample-4.3.0-stopped'")
    assert ("expired-id", 1000) in {(row["transactional_id"], row["producer_id"]) for row in known}


@pytest.fixture(scope="module")
def after_rerun(spark: SparkSession, tables: Root) -> dict[str, tuple[int, int]]:
    tracked = TABLES
    before = {table.name: version(tables, table) for table in tracked}
    detected(spark, SAMPLES, Path(tables.text))
    return {table.name: (before[table.name], version(tables, table)) for table in tracked}


def test_a_rerun_on_the_same_dump_commits_nothing_but_its_run(after_rerun: dict[str, tuple[int, int]]) -> None:
    changed = {name for name, (before, after) in after_rerun.items() if before != after}
    assert changed == {"runs"}


@pytest.fixture(scope="module")
def later_night(
    spark: SparkSession, tables: Root, after_rerun: object, tmp_path_factory: pytest.TempPathFactory
) -> Root:
    """A day later, of 3.5.2: late-write-0 was aborted meanwhile, and broker 2 is not in the dump."""
    dump = tmp_path_factory.mktemp("night") / "dump"
    shutil.copytree(SAMPLES / "kafka-3.5.2", dump)
    shutil.rmtree(dump / "broker-2")
    manifest = (dump / "dump.toml").read_text().split("[copies")[0]
    (dump / "dump.toml").write_text(f'{manifest}\nstarted = "2026-11-22T09:40:00Z"\nended = "2026-11-22T09:41:00Z"\n')
    segment = dump / "broker-1" / "late-write-0" / "00000000000000000000.log"
    with segment.open("ab") as log:
        log.write(marker(6, producer_id=1011, producer_epoch=0, kind=ABORT))
    for log_dir in dump.glob("broker-*"):
        copied_at(log_dir, int(datetime(2026, 11, 22, 9, 39, tzinfo=UTC).timestamp() * 1000))
    return detected(spark, dump, Path(tables.text))


def test_a_later_dump_resolves_what_it_shows_ended(later_night: Root) -> None:
    (row,) = rows(later_night, ABORT_CANDIDATES, "topic = 'late-write' AND partition = 0 AND producer_id = 1011"
                  " AND cluster = 'sample-3.5.2'")  # fmt: skip
    assert (row["status"], row["resolution"]) == ("RESOLVED", "no longer open")
    assert row["resolved_at"].isoformat() == "2026-11-22T09:40:00+00:00"


def test_a_dump_that_covers_less_resolves_nothing_outside_itself(later_night: Root) -> None:
    rest = rows(later_night, ABORT_CANDIDATES, "cluster = 'sample-3.5.2' AND NOT (producer_id = 1011)"
                " AND detected_at < '2026-11-22'")  # fmt: skip
    assert len(rest) == 9
    assert {row["status"] for row in rest} == {"OPEN"}
    others = rows(later_night, ABORT_CANDIDATES, "cluster <> 'sample-3.5.2' AND status <> 'OPEN'")
    assert others == []


def test_what_a_dump_has_is_renewed_and_the_rest_of_the_states_stays(later_night: Root) -> None:
    states = rows(later_night, PRODUCER_STATES, OF_3_5_2)
    aborted = [row for row in states if (row["topic"], row["partition"], row["producer_id"]) == ("late-write", 0, 1011)]
    assert [(row["current_txn_start_offset"], row["as_of"].day) for row in aborted] == [(None, 22)]
    brokers = {(row["broker"], row["as_of"].day) for row in states}
    assert brokers >= {("1", 22), ("2", 21)}
    assert not brokers & {("1", 21), ("2", 22)}
    assert {row["as_of"].day for row in kafka_listing.states(later_night, "sample-3.5.2")} == {22}
    assert {row["as_of"].day for row in kafka_listing.states(later_night, "sample-4.3.0")} == {21}


def test_nights_can_be_compared(later_night: Root) -> None:
    seen = rows(later_night, OPEN_TRANSACTIONS, "topic = 'never-added' AND partition = 0 AND cluster = 'sample-3.5.2'")
    assert len({row["as_of"] for row in seen}) == 2
    assert {row["start_offset"] for row in seen} == {0}


def test_what_an_earlier_dump_saw_bounds_the_age_where_timestamps_cannot(later_night: Root) -> None:
    seen = rows(later_night, OPEN_TRANSACTIONS, "producer_id = 1028 AND cluster = 'sample-3.5.2'", "as_of")
    assert [row["timestamps_trusted"] for row in seen] == [False, False]
    assert [(row["cause"], row["action"]) for row in seen] == [("TOO_YOUNG", "WAIT"), ("NEVER_ADDED", "ABORT")]


def test_the_older_dump_does_not_open_again_what_the_newer_one_resolved(spark: SparkSession, later_night: Root) -> None:
    def states() -> dict[tuple[Any, ...], tuple[Any, ...]]:
        found = rows(later_night, ABORT_CANDIDATES, "cluster = 'sample-3.5.2'")
        return {
            tuple(row[name] for name in ABORT_CANDIDATES.key): (row["status"], row["as_of"], row["resolved_at"])
            for row in found
        }

    before, known = states(), kafka_listing.states(later_night)
    assert {status for status, *_ in before.values()} == {"OPEN", "RESOLVED"}
    detected(spark, SAMPLES / "kafka-3.5.2", Path(later_night.text))
    assert states() == before
    assert kafka_listing.states(later_night) == known
