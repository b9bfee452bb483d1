"""Make the samples: `python data/samples/recipes/make.py kafka-3.5.2 [--keep-running]`, or `all`."""

import argparse
import logging
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from cluster import Cluster
from dump import PADDING_MS, Sample
from lab import TRANSACTION_MAX_TIMEOUT_MS, Lab
from programs import RECIPES_FOLDER, jars
from recipe import LOG, Recipe
from recipes import RECIPES

# What is made before this wait is late when it is dumped, what is made after it is not.
WAIT_SECONDS = (TRANSACTION_MAX_TIMEOUT_MS + PADDING_MS) / 1000 + 15


def start(cluster: Cluster) -> Lab:
    """All coordinators on node 1: the internal topics come to be while it is alone.

    Its restart raises their leader epoch and moves on to another block of producer ids: neither stays zero.
    """
    cluster.start(1)
    cluster.client.coordinator("any-id")
    cluster.client.coordinator("any-group", of_group=True)
    cluster.client.init_producer_id(None, 0)
    cluster.stop(1)
    cluster.start(1)
    cluster.start(*range(2, cluster.node_count + 1))
    return Lab(cluster)


def make(recipe: Recipe, wait_seconds: float, keep_running: bool) -> None:
    """Run the recipe in a scratch folder; the sample is replaced only when all of it went well."""
    LOG.info("%s", recipe.name)
    with tempfile.TemporaryDirectory() as scratch, recipe.cluster(Path(scratch) / "cluster") as cluster:
        sample = recipe.sample(Path(scratch) / recipe.name)
        lab = start(cluster)
        recipe.dump(lab, sample, wait_seconds)
        put(sample)
        if keep_running:
            keep(cluster)


def put(sample: Sample) -> None:
    """Replace the sample under data/samples."""
    target = RECIPES_FOLDER.parent / sample.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(sample.folder, target)


def keep(cluster: Cluster) -> None:
    """Leave the cluster up for experiments, until Enter or SIGTERM."""
    cluster.bring_back()
    LOG.info("running: %s\nclass path of its tools: %s/*", cluster.bootstrap, jars(cluster.release))
    if sys.stdin.isatty():
        input("Enter ends it ")
    else:
        signal.pause()


def _terminated(*_: object) -> None:
    raise SystemExit(0)


def main() -> None:
    """Read the command line and make what it names."""
    recipes = {recipe.name: recipe for recipe in RECIPES}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sample", choices=[*recipes, "all"])
    parser.add_argument("--keep-running", action="store_true", help="leave the cluster up after the dump")
    wait = "seconds until the old cases are old (%(default)s); less makes no sample, but tries the recipe"
    parser.add_argument("--wait", type=float, default=WAIT_SECONDS, help=wait)
    arguments = parser.parse_args()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    # So that the brokers are ended when this program is.
    signal.signal(signal.SIGTERM, _terminated)
    for recipe in RECIPES if arguments.sample == "all" else [recipes[arguments.sample]]:
        make(recipe, arguments.wait, arguments.keep_running)


if __name__ == "__main__":
    main()
