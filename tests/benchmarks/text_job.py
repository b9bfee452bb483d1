"""Read all batches of a dump by Spark and print how many seconds that took without its start."""

from __future__ import annotations

import sys
import time

from txnlog.session import session
from txnlog.sources.reading import batches


def main() -> None:
    """Read the folder that the command line names."""
    spark = session("txnlog-benchmark", **{"spark.master": "local[2]"})
    start = time.monotonic()
    batches(spark, sys.argv[1]).write.format("noop").mode("overwrite").save()
    seconds = time.monotonic() - start
    spark.stop()
    print(seconds)


if __name__ == "__main__":
    main()
