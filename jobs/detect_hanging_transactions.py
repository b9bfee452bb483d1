"""Nightly job: `spark-submit jobs/detect_hanging_transactions.py --config conf/nightly.toml`.

The same options and exit codes as `txnlog detect`. Everything is in the package: ship it as a wheel with
`--py-files`, or install it on the cluster.
"""

import sys

try:
    from txnlog.cli import detect
except ModuleNotFoundError as missing:
    # `--py-files` ships txnlog alone.
    print(f"txnlog: {missing}: install on the driver what docs/monitoring.md#where-it-runs lists", file=sys.stderr)
    sys.exit(3)

if __name__ == "__main__":
    sys.exit(detect())
