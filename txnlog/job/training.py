"""A run of everything that loads classes, for `spark.archive`: `python -m txnlog.job.training ARCHIVE FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from txnlog.config import DetectOptions
from txnlog.job.main import run
from txnlog.spark.session import JAVA_OPTIONS, SMALL, session

DAY_MS = 86_400_000
_BATCH = (
    "baseOffset: 0 lastOffset: 0 count: 1 baseSequence: {sequence} lastSequence: {sequence} producerId: {producer_id}"
    " producerEpoch: {sequence} partitionLeaderEpoch: 0 isTransactional: {is_transactional} isControl: false"
    " deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1 size: 100 magic: 2 compresscodec: none crc: 1"
    " isvalid: true\n"
    "| offset: 0 CreateTime: 1 keySize: 1 valueSize: 1 sequence: {sequence} headerKeys: []{record}\n"
)
# One transaction that hangs, whose coordinator knows nothing of it.
_TEXT = (
    "Dumping orders-0/00000000000000000000.log\nLog starting offset: 0\n"
    + _BATCH.format(sequence=0, producer_id=1, is_transactional="true", record="")
    + "Dumping __transaction_state-0/00000000000000000000.log\nLog starting offset: 0\n"
    + _BATCH.format(
        sequence=-1,
        producer_id=-1,
        is_transactional="false",
        record=' key: {"type":"0","data":{"transactionalId":"orders"}} payload: {"version":"0","data":{"producerId":1,'
        '"producerEpoch":0,"transactionTimeoutMs":1,"transactionStatus":0,"transactionPartitions":null,'
        '"transactionLastUpdateTimestampMs":1,"transactionStartTimestampMs":-1}}',
    )
)


def main(archive: str, folder: str) -> None:
    """Find what hangs in a small dump, as `txnlog detect` does, and what else a notebook does with the tables."""
    dump, tables = Path(folder, "dump"), Path(folder, "tables")
    dump.mkdir()
    (dump / "orders.txt").write_text(_TEXT)
    spark = session(is_small=True, **{JAVA_OPTIONS: f'{SMALL[JAVA_OPTIONS]} "-XX:ArchiveClassesAtExit={archive}"'})
    # Into new tables, and on top of what stands there.
    for day in (1, 2):
        run(spark, DetectOptions(str(dump), str(tables), "training", as_of=day * DAY_MS))
    _other_sessions(spark, tables)
    spark.stop()


def _other_sessions(spark: SparkSession, tables: Path) -> None:
    """What a session for many rows does otherwise: it compiles plans, and workers read."""
    for name in ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode", "spark.sql.adaptive.enabled"):
        spark.conf.unset(name)
    written = spark.read.format("delta").load(str(tables / "open_transactions"))
    written.mapInArrow(_same, written.schema).groupBy("topic").count().collect()


def _same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    main(*sys.argv[1:])
