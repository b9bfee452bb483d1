"""Nightly job: `spark-submit jobs/detect_hanging_transactions.py --config conf/nightly.toml`.

The same options and exit codes as `txnlog detect`. Everything is in the package: ship it as a wheel with
`--py-files`, or install it on the cluster.
"""

import sys

from txnlog.cli import detect

if __name__ == "__main__":
    sys.exit(detect())
