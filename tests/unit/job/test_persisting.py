"""What a job keeps of a dump while it runs."""

from __future__ import annotations

from pyspark.sql import SparkSession

from txnlog.job.persisting import persisting


def test_frames_are_kept_on_disk_until_the_job_ends(spark: SparkSession) -> None:
    with persisting(spark) as persist:
        kept = persist(spark.range(3))
        level = kept.storageLevel
        assert (level.useDisk, level.useMemory) == (True, False)
        assert kept.count() == 3
    assert not kept.is_cached
