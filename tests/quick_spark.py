"""Settings of a Spark that evaluates a handful of rows at a time, many times over."""

from __future__ import annotations

from txnlog.session import SMALL, Setting

QUICK: dict[str, Setting] = {"spark.master": "local[2]", **SMALL}
# Of these, the ones that say how queries are planned: a Spark that somebody else starts can have them, too.
QUICK_PLANS: dict[str, Setting] = {
    name: value for name, value in SMALL.items() if name.startswith(("spark.sql.", "spark.databricks."))
}
