# The order: of all brokers first the data, then __transaction_state. So each coordinator's copy is newer than all data,
# without a broker's clock that says so. In each log directory first the checkpoints: a high watermark that is copied
# after its log can be beyond the end of the copy. It runs with the bash 3.2 of macOS, too.

COORDINATORS='./__transaction_state-*'
SMALL=(-maxdepth 1 -type f '(' -name meta.properties -o -name '*-checkpoint' ')')
# Folders of partitions end in a number; what Kafka deletes or moves ends in a word. In the order of names
# leader-epoch-checkpoint comes after the log: a new leader that truncates the log meanwhile shows in it.
LOGS=(-mindepth 2 -maxdepth 2 -type f -path './*-*[0-9]/*' ! -path './__cluster_metadata-*'
  '(' -name '*.log' -o -name '*.snapshot' -o -name '*.txnindex' -o -name leader-epoch-checkpoint
  -o -name partition.metadata ')')
MARK='# A dump for txnlog: copy.sh writes this file and keeps the folder equal to the brokers.'
CLEANED=cleaner-offset-checkpoint
ATTEMPTS=3
export LC_ALL=C
unset CDPATH

say() {
  printf 'copy: %s\n' "$*" | tr -c '[:print:]\n' '?' >&2
}

stop() {
  say "$@"
  exit 2
}

now() {
  date -u +%Y-%m-%dT%H:%M:%S.%3NZ
}

# Words for a shell of any kind.
quoted() {
  local word escaped="'\\''"
  for word; do printf "'%s' " "${word//\'/$escaped}"; done
}

# A command in the log directory, on its broker.
in_log_dir() {
  local command
  command="cd $(quoted "$log_dir") && $(quoted "$@")"
  case $way in
    local) (cd "$log_dir" && "$@") ;;
    ssh) "${ssh[@]}" "$host" "$command" ;;
    pod) "${kubectl[@]}" exec -i "$host" ${CONTAINER:+-c "$CONTAINER"} -- sh -c "$command" ;;
  esac
}

in_copy() {
  (cd "$folder" && "$@")
}

# Path, size and time (ms since 1970) of the wanted files, in the order of names.
found() {
  "$1" find . -ignore_readdir_race "${wanted[@]}" -printf '%p\t%s\t%T@\n' </dev/null |
    sed -E 's/\.([0-9]{3})[0-9]*$/\1/' | sort
}

# What a listing has and the copy lacks, or has shorter or older. Not every tar keeps milliseconds.
lacking() {
  awk -F '\t' 'of == "copy" { size[$1] = $2; time[$1] = int($3 / 1000); next }
    !($1 in size) || size[$1] + 0 < $2 + 0 || time[$1] < int($3 / 1000) { print $1 }' \
    of=copy <(found in_copy) of=listing "$1"
}

# What an earlier run left that is no more, or is not the beginning of what is listed.
stale() {
  awk -F '\t' 'of == "listing" { size[$1] = $2; time[$1] = int($3 / 1000); next }
    !($1 in size) || size[$1] + 0 < $2 + 0 || time[$1] < int($3 / 1000) { print $1 }' \
    of=listing "$1" of=copy <(found in_copy)
}

# The files that are named on stdin.
fetch() {
  case $way:$COPY_WITH in
    pod:* | *:tar)
      in_log_dir tar --format=posix -cf - -T - | tar -C "$folder" -xof -
      ;;
    ssh:*) rsync -ts --files-from=- -e "${ssh[*]}" "$host:$log_dir/" "$folder/" ;;
    *) rsync -t --files-from=- "$log_dir/" "$folder/" ;;
  esac
}

# Lets the copy have what is listed. Whether a file arrived is seen in the copy: the exit codes of kubectl, ssh, tar and
# rsync do not tell a lost connection from a file that grew or that Kafka deleted.
transfer() {
  local name attempt
  stale "$scratch/listed" >"$scratch/names" || return 1
  while IFS= read -r name; do rm -f "$folder/$name"; done <"$scratch/names"
  # Of an rsync that was killed.
  in_copy find . -mindepth 2 -maxdepth 2 -type f -name '.*' -delete || return 1
  for ((attempt = 0; attempt < ATTEMPTS; attempt++)); do
    lacking "$scratch/listed" >"$scratch/names" || return 1
    if [[ ! -s $scratch/names ]]; then return 0; fi
    fetch <"$scratch/names" 2>"$scratch/said" || true
  done
  lacking "$scratch/listed" >"$scratch/names" || return 1
  found in_log_dir >"$scratch/still" || return 1
  lacking "$scratch/still" | comm -12 - "$scratch/names" >"$scratch/failed" || return 1
  if [[ -s $scratch/failed ]]; then
    say "files not copied: $(wc -l <"$scratch/failed"), such as $(head -n 1 "$scratch/failed")"
    say "$(tail -n 3 "$scratch/said")"
    return 1
  fi
  if [[ -s $scratch/names ]]; then say "files deleted or replaced on the broker meanwhile: $(wc -l <"$scratch/names")"; fi
}

# The files of a kind of one log directory: checkpoints, the listing, and what is listed.
copied() {
  local begun
  mkdir -p "$folder" || return 1
  wanted=("${SMALL[@]}")
  found in_log_dir >"$scratch/listed" || return 1
  transfer || return 1
  wanted=("${LOGS[@]}" "$@")
  begun=$(date +%s%3N)
  found in_log_dir >"$scratch/listed" || return 1
  { printf '# begun\t%s\n' "$begun" && cat "$scratch/listed"; } >"$folder/listing.tsv.part" || return 1
  mv "$folder/listing.tsv.part" "$folder/listing.tsv" || return 1
  transfer
}

# How far the cleaner says it is; nothing where it has not cleaned yet.
cleaned() {
  "$1" cat "$CLEANED" </dev/null 2>"$scratch/said" || true
}

# What the cleaner takes after its checkpoint was copied is a gap that nothing explains: then once more. What has not
# changed is not fetched again.
copied_between_cleanings() {
  local attempt
  for ((attempt = 0; attempt < ATTEMPTS; attempt++)); do
    copied "$@" || return 1
    if cmp -s <(cleaned in_log_dir) <(cleaned in_copy); then return 0; fi
  done
  say "the log cleaner was at work during $ATTEMPTS copies: what it took meanwhile is reported as missing"
}

copy() {
  local name=$1 started
  shift
  folder=$TO/$name
  started=${SNAPSHOT_STARTED:-$(now)}
  say "$name from ${host:+$host:}$log_dir"
  if "$@"; then
    times+=$(printf '\n[copies."%s"]\nstarted = "%s"\nended = "%s"' "$name" "$started" "${SNAPSHOT_ENDED:-$(now)}")$'\n'
  else
    failures=$((failures + 1))
    say "$name: cut off"
  fi
}

# What is done for each log directory, with its name, the way to its broker, the broker's address, and its path.
data() {
  way=$2 host=$3 log_dir=$4
  copy "broker-$1" copied ! -path "$COORDINATORS" "${chosen[@]}"
}

coordinators() {
  way=$2 host=$3 log_dir=$4
  copy "coordinators-$1" copied_between_cleanings -path "$COORDINATORS"
}

known() {
  names+=" broker-${1%%/*} coordinators-${1%%/*} "
}

start() {
  local pattern patterns beside
  if ! find . --version 2>/dev/null | grep -q GNU || [[ $(date +%3N) != [0-9][0-9][0-9] ]]; then
    stop 'GNU find and date are needed here (macOS: findutils and coreutils, with their gnubin folders in PATH)'
  fi
  read -r -a ssh <<<"${SSH:-ssh}"
  read -r -a kubectl <<<"${KUBECTL:-kubectl}"
  read -r -a patterns <<<"${PARTITIONS:-*}"
  chosen=('(' -name '')
  for pattern in "${patterns[@]}"; do chosen+=(-o -path "./$pattern/*"); done
  chosen+=(')')
  mkdir -p "$TO"
  # Before the first slash a colon would be taken for the end of a host's name.
  TO=$(cd "$TO" && pwd)
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  if [[ -n $(ls -A "$TO") ]] && ! grep -qxF "$MARK" "$TO/dump.toml" 2>/dev/null; then
    stop "$TO is not empty, and not a dump of this script: set TO to another folder"
  fi
  each_log_dir known
  for beside in "$TO"/*/; do
    beside=${beside%/}
    if [[ -d $beside && $names != *" ${beside##*/} "* ]]; then
      stop "$beside is of another dump: set TO to another folder"
    fi
  done
  manifest
}

# As long as the copy is not whole, it has no time.
manifest() {
  printf '%s\n' "$MARK" "$MANIFEST" "$times" >"$TO/dump.toml.part"
  mv "$TO/dump.toml.part" "$TO/dump.toml"
}

# dump.toml comes last: without it nothing there says when it was copied.
upload() {
  local manifest=$TO/dump.toml
  case $UPLOAD in
    s3://*)
      aws s3 sync --delete --exclude dump.toml "$TO" "$UPLOAD" &&
        aws s3 cp "$manifest" "$UPLOAD/dump.toml"
      ;;
    gs://*)
      gcloud storage rsync --recursive --delete-unmatched-destination-objects --exclude '^dump\.toml$' \
        "$TO" "$UPLOAD" && gcloud storage cp "$manifest" "$UPLOAD/dump.toml"
      ;;
    *) rclone sync --exclude /dump.toml "$TO" "$UPLOAD" && rclone copy "$manifest" "$UPLOAD" ;;
  esac
}

failures=0 times='' names=''
start
each_log_dir data
each_log_dir coordinators
manifest
if ((failures > 0)); then
  say "$failures copies were cut off: run it again, it goes on"
  exit 1
fi
if [[ -n ${UPLOAD:-} ]]; then
  upload || { say "the upload to $UPLOAD was cut off: run it again, it goes on" && exit 1; }
fi
say "done: txnlog check $(quoted "$TO")"
