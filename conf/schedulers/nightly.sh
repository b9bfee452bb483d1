#!/usr/bin/env bash
# One run for a plain scheduler: nightly.sh CONFIG METRICS, e.g. nightly.sh /etc/txnlog/nightly.toml
# /var/lib/node_exporter/textfile/txnlog.prom. Its last line says what to do; the exit code is that of the
# command of txnlog that failed, or 74 where the copy did.
# COPY=/etc/txnlog/copy.sh is run before: a script of `txnlog copy-script`, which renews the dump that CONFIG names.
# With BOOTSTRAP_SERVER=host:9092 (and COMMAND_CONFIG=client.properties for TLS and SASL) the cluster is asked afterwards
# whether each candidate is still stuck, and the metrics are written again; TXNLOG_TABLES then names the tables, and
# CLUSTER the cluster if they have several.
# While the run of the night before is still going on it does nothing, says so, and ends with exit code 75.
# The lock lies where the user may write: in $LOCKS, which systemd makes (RuntimeDirectory=) or you do.
set -uo pipefail
config=${1:?CONFIG is missing} metrics=${2:?METRICS is missing}
locks=${LOCKS:-${RUNTIME_DIRECTORY:-${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}}}

if ! exec 9>>"$locks/txnlog-$(id -u).lock"; then
  echo "txnlog: the lock cannot be made in $locks: name a folder that $(id -un) may write to as LOCKS" >&2
  exit 2
fi
if ! flock --nonblock 9; then
  echo "txnlog: skipped: the previous run holds $locks/txnlog-$(id -u).lock" >&2
  exit 75
fi

if [[ -n ${COPY:-} ]] && ! bash "$COPY" 9>&-; then
  echo "txnlog: the dump is not renewed, and nothing is judged: run $COPY again" >&2
  exit 74
fi
txnlog detect --config "$config" --metrics "$metrics"
code=$?
if ((code == 0)) && [[ -n ${BOOTSTRAP_SERVER:-} ]]; then
  only=(${CLUSTER:+--cluster "$CLUSTER"})
  asked=(--bootstrap-server "$BOOTSTRAP_SERVER" ${COMMAND_CONFIG:+--command-config "$COMMAND_CONFIG"})
  txnlog verify "${asked[@]}" "${only[@]}" && txnlog metrics --output "$metrics" "${only[@]}"
  code=$?
fi
case $code in
  0) echo "txnlog: done" ;;
  1) echo "txnlog: an error of txnlog or Spark: run it again, then read the log" ;;
  2) echo "txnlog: wrong options, or a dump that cannot be read: correct $config or the settings of this script, or take the dump again" ;;
  3) echo "txnlog: Java, Python, Spark or a jar is missing on this machine" ;;
  4) echo "txnlog: a table is missing, of another schema, or cannot be written" ;;
  5) echo "txnlog: the running cluster cannot be reached, or is not the one of the dump" ;;
  *) echo "txnlog: ended by a signal; each table is unchanged or complete: run it again" ;;
esac >&2
exit "$code"
