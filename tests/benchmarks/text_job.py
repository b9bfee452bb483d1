"""Read all batches of a dump by Spark and print how many seconds that took without its start."""

from __future__ import annotations

import sys
import time

from txnlog.session import session
from txnlog.sources.reading import batches


def main() -> None:
    """Read the folder that the command line names, after another one, with which the workers start."""
    spark = session("txnlog-benchmark", **{"spark.master": "local[2]"})
    small, large = sys.argv[1:]
    for folder in (small, large):
        start = time.monotonic()
        batches(spark, folder).write.format("noop").mode("overwrite").save()
        seconds = time.monotonic() - start
    spark.stop()
    print(seconds)


if __name__ == "__main__":
    main()
