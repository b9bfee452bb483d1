"""Settings of a Spark that evaluates a handful of rows at a time, many times over."""

from __future__ import annotations

from txnlog.spark.session import JAVA_OPTIONS, SMALL, Setting

# A session of so many runs gains by Java's second compiler from the second run on: 15 s a run, not 27.
_OPTIONS = str(SMALL[JAVA_OPTIONS]).replace("-XX:TieredStopAtLevel=1 ", "")
QUICK: dict[str, Setting] = {"spark.master": "local[2]", **SMALL, JAVA_OPTIONS: _OPTIONS}
