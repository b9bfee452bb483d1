"""Start Spark and commit one row to a new Delta table: what no job can do without."""

from __future__ import annotations

import sys

from txnlog.spark.session import session


def main() -> None:
    """Write to the folder that the command line names."""
    spark = session("txnlog-benchmark")
    spark.range(1).write.format("delta").save(sys.argv[1])
    spark.stop()


if __name__ == "__main__":
    main()
