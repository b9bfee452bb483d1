"""Start Spark and commit one row to a new Delta table: what no job can do without."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from unittest.mock import patch

from txnlog.spark import archive
from txnlog.spark.session import session

WITHOUT_ARCHIVE = "without-archive"


def main() -> None:
    """Write to the folder that the command line names; `WITHOUT_ARCHIVE` behind it: as Spark starts by itself."""
    is_plain = sys.argv[2:] == [WITHOUT_ARCHIVE]
    with patch.object(archive, "java_options", return_value=[]) if is_plain else nullcontext():
        spark = session("txnlog-benchmark")
    spark.range(1).write.format("delta").save(sys.argv[1])
    spark.stop()


if __name__ == "__main__":
    main()
