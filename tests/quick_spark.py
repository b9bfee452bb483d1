"""Settings of a Spark that evaluates a handful of rows at a time, many times over."""

from __future__ import annotations

from txnlog.spark.session import SMALL, Setting

QUICK: dict[str, Setting] = {"spark.master": "local[2]", **SMALL}
