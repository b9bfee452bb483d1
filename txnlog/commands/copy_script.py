"""`txnlog copy-script`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command
from txnlog.dump.copying import Copies, script, source
from txnlog.errors import OptionError

_EPILOG = """log directories:
  1=kafka-1:/var/lib/kafka/data    over ssh, with rsync; several of a broker: 1=kafka-1:/disk-b as well
  0=pod/my-cluster-kafka-0:/var/lib/kafka/data-0/kafka-log0
                                   with kubectl exec and tar, as in Strimzi
  1=/mnt/kafka-1                   a folder of this machine: a mounted disk snapshot, or the broker's own

object stores: UPLOAD=s3://bucket/tonight bash copy.sh uploads the dump, and txnlog reads it there.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="BROKER=LOG_DIR", help="a log directory of a broker; see below")
    parser.add_argument("--to", default="dump", metavar="FOLDER", help="folder of the dump (dump)")
    parser.add_argument("--tar", action="store_true", help="copy with tar in place of rsync")
    parser.add_argument("--cluster", metavar="NAME", help="name of the cluster, for dump.toml")
    parser.add_argument(
        "--max-transaction-timeout",
        metavar="DURATION",
        help="the brokers' transaction.max.timeout.ms, for dump.toml; 15m if it is not there",
    )
    parser.add_argument(
        "--coordinator-partitions",
        type=int,
        metavar="N",
        help="the brokers' transaction.state.log.num.partitions, for dump.toml",
    )
    parser.add_argument(
        "--snapshot-started", metavar="TIME", help="the log directories are snapshots: before the first was taken"
    )
    parser.add_argument("--snapshot-ended", metavar="TIME", help="after the last snapshot was taken")


def _run(parsed: argparse.Namespace) -> None:
    times = parsed.snapshot_started, parsed.snapshot_ended
    if (times[0] is None) != (times[1] is None):
        raise OptionError("--snapshot-started, --snapshot-ended: both or none")
    if parsed.coordinator_partitions is not None and parsed.coordinator_partitions < 1:
        raise OptionError("--coordinator-partitions: must be above 0")
    sys.stdout.write(
        script(
            Copies(
                sources=[source(each) for each in parsed.sources],
                to=parsed.to,
                cluster=parsed.cluster,
                max_transaction_timeout=parsed.max_transaction_timeout,
                coordinator_partitions=parsed.coordinator_partitions,
                snapshot=times if times[0] is not None else None,
                with_tar=parsed.tar,
            )
        )
    )


COMMAND = Command(
    "copy-script",
    "print a script that copies brokers' log directories into a dump",
    _add_arguments,
    _run,
    "copy-script --cluster payments 1=kafka-1:/var/lib/kafka/data 2=kafka-2:/var/lib/kafka/data > copy.sh",
    _EPILOG,
)
