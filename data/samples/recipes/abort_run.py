"""Abort on live brokers what txnlog lists, and write down what came of it: `abort_run.py kafka-3.5.2`.

The cluster and its dump are made again in a scratch folder, and the brokers keep running. Each abort of
`txnlog abort-list` is run by itself, as it is printed; then the cluster is dumped again, and no candidate may be left
open.
The record is `abort-run.txt` beside the sample; nothing else of the sample changes.
"""

import argparse
import logging
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from abort_record import Record
from aborts import AbortRun
from lab import Lab
from make import WAIT_SECONDS, start
from programs import RECIPES_FOLDER
from recipe import LOG, Recipe
from recipes import RECIPES

NAMES = ("kafka-3.5.2", "kafka-4.3.0")


def written(recipe: Recipe, lab: Lab, scratch: Path) -> Record:
    """Run everything after the first dump, and write the record beside the sample."""
    record = Record(scratch)
    today = datetime.now(UTC).date()
    record.say(f"Aborts of {recipe.name} on live brokers of Kafka {recipe.release}, {today}.")
    record.say(f"Made by recipes/abort_run.py {recipe.name}; the cluster was made anew, so producer ids may differ.")
    try:
        AbortRun(recipe, lab, scratch, record).all()
    except Exception:
        # Whatever went wrong, what is noted so far says where: the record is written only at the end.
        LOG.error("so far:\n%s", "\n".join(record.lines))
        raise
    record.say(f"\n{record.passed} checks passed, {len(record.failures)} failed.")
    target = RECIPES_FOLDER.parent / recipe.name / "abort-run.txt"
    target.write_text("\n".join(record.lines) + "\n")
    return record


def _terminated(*_: object) -> None:
    raise SystemExit(1)


def main() -> int:
    """Read the command line, make the cluster, and run; 1 where a check failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sample", choices=NAMES)
    arguments = parser.parse_args()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    # So that the brokers are ended when this program is.
    signal.signal(signal.SIGTERM, _terminated)
    recipe = next(recipe for recipe in RECIPES if recipe.name == arguments.sample)
    with tempfile.TemporaryDirectory() as name, recipe.cluster(Path(name) / "cluster") as cluster:
        scratch, lab = Path(name), start(cluster)
        recipe.dump(lab, recipe.sample(scratch / "dump-1"), WAIT_SECONDS)
        record = written(recipe, lab, scratch)
        LOG.info(record.lines[-1])
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
