"""Read a dump by Spark and print how many seconds that took without its start."""

from __future__ import annotations

import argparse
import time

from txnlog.sources import reading
from txnlog.spark.session import session


def main() -> None:
    """Read the folder that the command line names, after another one, with which the workers start."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("what", choices=("batches", "evidence"))
    parser.add_argument("small")
    parser.add_argument("large")
    given = parser.parse_args()
    spark = session("txnlog-benchmark", is_small=False, **{"spark.master": f"local[{given.cores}]"})
    whole = {"batches": {}, "evidence": {"full": True}}[given.what]
    for folder in (given.small, given.large):
        start = time.monotonic()
        getattr(reading, given.what)(spark, folder, **whole).write.format("noop").mode("overwrite").save()
        seconds = time.monotonic() - start
    spark.stop()
    print(seconds)


if __name__ == "__main__":
    main()
