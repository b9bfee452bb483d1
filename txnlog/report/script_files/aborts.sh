# What it asks: kafka-cluster.sh and kafka-transactions.sh. It runs with the bash 3.2 of macOS, too.

tried=0 aborted=0 possible=0 ended=0 changed=0 failed=0
outcome='' said='' expected_producer=''
expected_ids=() expected_transactions=()

stop() {
  printf '%s\n' "$*" >&2
  exit 2
}

# Words as bash takes them, without a character that controls a terminal.
quoted() {
  local LC_ALL=C
  printf '%q ' "$@"
}

# What a tool said, for a terminal.
shown() {
  printf '%s\n' "$1" | LC_ALL=C tr -c '[:print:]\n' '?' | sed 's/^/    /'
}

# A command of Kafka with all that it says. It must not read this script as its input.
asked() {
  "$@" 2>&1 </dev/null
}

transactions() {
  asked "${transactions_tool[@]}" --bootstrap-server "$BOOTSTRAP_SERVER" \
    ${COMMAND_CONFIG:+--command-config "$COMMAND_CONFIG"} "$@"
}

# kafka-cluster.sh has --command-config from 4.2 on, --config before.
cluster_id() {
  local question=("${cluster_tool[@]}" cluster-id --bootstrap-server "$BOOTSTRAP_SERVER")
  if [[ -z ${COMMAND_CONFIG:-} ]]; then
    asked "${question[@]}"
  else
    asked "${question[@]}" --command-config "$COMMAND_CONFIG" || asked "${question[@]}" --config "$COMMAND_CONFIG"
  fi
}

start() {
  [[ -n ${BOOTSTRAP_SERVER:-} ]] || stop 'set BOOTSTRAP_SERVER to host:port of a broker'
  [[ -n $CLUSTER_ID ]] || stop 'no dump has the id of this cluster: set CLUSTER_ID to it'
  if [[ $RUN == 1 && $CHECKED == no && ${I_STOPPED_THESE_PRODUCERS:-} != yes ]]; then
    stop 'nothing is checked: stop the producers that this script names, then set I_STOPPED_THESE_PRODUCERS=yes'
  fi
  local tool=${KAFKA_TRANSACTIONS:-kafka-transactions.sh}
  # A path, which may have blanks, or a command with its arguments.
  if [[ -x $tool ]]; then transactions_tool=("$tool"); else read -r -a transactions_tool <<<"$tool"; fi
  tool=${KAFKA_CLUSTER:-${tool/%kafka-transactions.sh/kafka-cluster.sh}}
  tool=${tool/%kafka-transactions/kafka-cluster}
  if [[ -x $tool ]]; then cluster_tool=("$tool"); else read -r -a cluster_tool <<<"$tool"; fi
  [[ ${cluster_tool[*]} != "${transactions_tool[*]}" ]] || stop 'set KAFKA_CLUSTER to the path of kafka-cluster.sh'
  local answer
  if ! answer=$(cluster_id); then
    shown "$answer" >&2
    stop 'the cluster did not say its id: nothing was done'
  fi
  answer=${answer##*Cluster ID: }
  [[ ${answer%%[[:space:]]*} == "$CLUSTER_ID" ]] ||
    stop "this is another cluster, $(quoted "${answer%%[[:space:]]*}"), not $(quoted "$CLUSTER_ID"): nothing was done"
}

# What the leader must still show of the producer id, as describe-producers names it.
expect_producer() {
  expected_producer=$1
}

# What the coordinator must still show of a transactional id, as describe names it.
expect_transactional_id() {
  expected_ids+=("$1")
  expected_transactions+=("$2")
}

# The row of a producer id in an answer of describe-producers.
producer_in() {
  local producer epoch coordinator sequence timestamp start _
  while read -r producer epoch coordinator sequence timestamp start _; do
    if [[ $producer == "$2" ]]; then
      printf '%s' "ProducerId=$producer ProducerEpoch=$epoch LatestCoordinatorEpoch=$coordinator" \
        " LastSequence=$sequence LastTimestamp=$timestamp CurrentTransactionStartOffset=$start"
      return
    fi
  done <<<"$1"
}

# The row of a transactional id, which may hold any character, in an answer of describe.
transaction_in() {
  local answer=$1 id=$2 line producer epoch state start partitions _
  line=${answer#*$'\t'TopicPartitions*$'\n'}
  line=${line#*$'\t'}
  [[ $answer == *$'\t'TopicPartitions* && $line == "$id"* ]] || return 0
  line=${line#"$id"}
  read -r producer epoch state _ start _ partitions <<<"${line%%$'\n'*}"
  partitions=$(tr ',' '\n' <<<"$partitions" | LC_ALL=C sort | paste -s -d , -)
  printf '%s' "ProducerId=$producer ProducerEpoch=$epoch TransactionState=$state"
  # Some dumps do not show when a transaction started.
  if [[ $3 == *CurrentTransactionStartTimeMs=* ]]; then printf ' CurrentTransactionStartTimeMs=%s' "$start"; fi
  printf ' TopicPartitions=%s' "$partitions"
}

# Whether the transaction of the entry is still open, as in the dump. Of the arguments the last two are the start offset.
check_producer() {
  local answer producer=${expected_producer#ProducerId=} now
  if [[ -z $expected_producer ]]; then
    outcome=failed said='no expect_producer before it: nothing to compare with'
    return
  fi
  if ! answer=$(transactions describe-producers "${@:1:$#-2}") || [[ $answer != *CurrentTransactionStartOffset* ]]; then
    outcome=failed said=$answer
    return
  fi
  now=$(producer_in "$answer" "${producer%% *}")
  if [[ ${now##*=} != "${expected_producer##*=}" ]]; then
    outcome=ended said=''
  elif [[ $now != "$expected_producer" ]]; then
    outcome=changed said="in the dump: $expected_producer"$'\n'"now:         $now"
  else
    outcome=unchanged said=''
  fi
}

# Whether the coordinator of a transactional id still says what the dump says.
check_transactional_id() {
  local answer id=$1 expected=$2 now
  if answer=$(transactions describe --transactional-id="$id"); then
    now=$(transaction_in "$answer" "$id" "$expected")
  elif [[ ${answer//"$id"/} == *'because the ID could not be found.'* ]]; then
    now='not known'
  fi
  if [[ -z ${now:-} ]]; then
    outcome=failed said=$answer
  elif [[ $now != "$expected" ]]; then
    outcome=changed said="in the dump: $expected"$'\n'"now:         $now"
  fi
}

check() {
  outcome=unchanged said=''
  [[ $CHECKED == yes ]] || return 0
  check_producer "$@"
  local i
  for ((i = 0; i < ${#expected_ids[@]}; i++)); do
    [[ $outcome == unchanged ]] || return 0
    check_transactional_id "${expected_ids[i]}" "${expected_transactions[i]}"
  done
}

# Kafka's tool fails, too, where a transaction ended after it was checked.
act() {
  local answer
  if answer=$(transactions abort "$@"); then
    outcome=aborted
    return
  fi
  if [[ $CHECKED == yes ]]; then check_producer "$@"; fi
  if [[ $outcome != ended ]]; then outcome=failed said=$answer; fi
}

# One abort. What came of it is counted, and the next one is tried.
abort() {
  tried=$((tried + 1))
  printf '%d. abort %s\n' "$tried" "$(quoted "$@")"
  check "$@"
  if [[ $outcome == unchanged && $RUN == 1 ]]; then act "$@"; fi
  case $outcome in
    aborted) aborted=$((aborted + 1)) && printf '  aborted\n' ;;
    unchanged) possible=$((possible + 1)) && printf '  would be aborted\n' ;;
    ended) ended=$((ended + 1)) && printf '  skipped: the transaction has ended\n' ;;
    changed)
      changed=$((changed + 1))
      printf '  SKIPPED: not as in the dump. Stop its producer, or take a new dump.\n'
      ;;
    *) failed=$((failed + 1)) && printf '  FAILED\n' ;;
  esac
  if [[ -n $said ]]; then shown "$said"; fi
  expected_producer='' expected_ids=() expected_transactions=()
}

finish() {
  printf '\n%d tried: ' "$tried"
  if [[ $RUN == 1 ]]; then printf '%d aborted' "$aborted"; else printf '%d would be aborted' "$possible"; fi
  printf ', %d had ended, %d not as in the dump, %d failed\n' "$ended" "$changed" "$failed"
  if [[ $RUN != 1 ]]; then printf 'Nothing was changed. RUN=1 aborts.\n'; fi
  if ((changed + failed > 0)); then exit 1; fi
}

start
