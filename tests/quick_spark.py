"""Settings of a Spark that evaluates a handful of rows at a time, many times over."""

from __future__ import annotations

QUICK: dict[str, str | bool] = {
    "spark.master": "local[2]",
    # Tests are short: what the second compiler makes faster would not be run often enough to pay. With one
    # compiler Java keeps 48 MiB for what it compiles; many plans fill them, and nothing is compiled any more.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
    # To compile each plan, and to plan anew after each stage, takes longer than to run it. Jobs in processes of
    # their own do both.
    "spark.sql.adaptive.enabled": False,
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
