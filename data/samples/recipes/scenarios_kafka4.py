"""Cases of Kafka 4: transaction version 2 (KIP-890), two-phase commit (KIP-939), lost leaders."""

from lab import Lab, RawProducer, Written
from scenarios import note_lost, pending

PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"


def tv2_transactions(lab: Lab) -> None:
    """Each EndTxn bumps the epoch, so every marker is one epoch above its data."""
    topic = lab.topic("tv2.payments", [1], [2])
    raw = lab.producer("tv2-payments", transaction_version=2)
    for number, commit in enumerate((True, False, True, True)):
        for partition in (0, 1):
            raw.begin(topic, partition, f"payment {number}", "of two")
        raw.end(commit)
    for partition in (0, 1):
        lab.note_closed(topic, partition, "Transactions of version 2: three commits and an abort, at four epochs.")


def tv2_java_client(lab: Lab) -> None:
    """Transactions of Kafka's own Java client, which speaks version 2 where the cluster does."""
    topic = lab.topic("tv2.performance", [2])
    size = ("--num-records", "24", "--record-size", "48", "--throughput", "60")
    transactions = ("--transactional-id", "tv2-performance", "--transaction-duration-ms", "90")
    settings = (
        f"bootstrap.servers={lab.cluster.bootstrap}",
        "compression.type=zstd",
        "transaction.timeout.ms=8000",
    )
    lab.cluster.tool(PERFORMANCE, "--topic", topic, *size, *transactions, "--command-property", *settings)
    lab.note_closed(topic, 0, "Commits of Kafka's own Java client with transaction version 2.")


def tv2_never_added(lab: Lab) -> None:
    """A client of version 2 that falls back to a Produce request which adds nothing."""
    topic, elsewhere = lab.topic("tv2.never-added", [2]), lab.topic("tv2.added", [1])
    raw = lab.producer("tv2-never-added", bumps=1, transaction_version=2)
    raw.begin(elsewhere, 0, "with the coordinator's knowledge")
    raw.end(commit=True)
    first = raw.write(topic, 0, "without it")
    story = "The id completed a transaction elsewhere; this data came in a request that adds no partition."
    lab.note_open(raw, first, "NEVER_ADDED", "ABORT", story)
    lab.note_closed(elsewhere, 0, "The transaction of the id that wrote to tv2.never-added-0.")


def tv2_zombie(lab: Lab) -> None:
    """Data at an epoch that two transactions of version 2 have left behind."""
    topic, elsewhere = lab.topic("tv2.zombie", [1]), lab.topic("tv2.living", [2])
    raw = lab.producer("tv2-zombie", bumps=2, transaction_version=2)
    former = raw.as_of_epoch(raw.producer)
    for commit in (True, True, False):
        raw.begin(elsewhere, 0, "of the living")
        raw.end(commit)
    story = "Three transactions bumped the epoch by three; then data of the first epoch was written here."
    lab.note_open(former, former.write(topic, 0, "of the dead"), "EPOCH_MISMATCH", "ABORT", story)
    lab.note_closed(elsewhere, 0, "The transactions of tv2-zombie that the coordinator knows.")


def tv2_ongoing(lab: Lab) -> None:
    """A transaction of version 2 in time, after one that completed."""
    topic = lab.topic("tv2.ongoing", [1], [2])
    raw = lab.producer("tv2-ongoing", transaction_version=2)
    raw.begin(topic, 0, "the one before")
    raw.end(commit=True)
    for partition in (0, 1):
        story = "Begun seconds before the dump; the partition's leader had it added to the transaction."
        lab.note_open(raw, raw.begin(topic, partition, "in time"), "ONGOING", "WAIT", story)


def tv2_pending(lab: Lab) -> None:
    """As `pending`, with PrepareCommit at one epoch above the data."""
    pending(lab, transaction_version=2)


def lost_to_leaderless(lab: Lab) -> None:
    """EndTxn while the partition has no leader: the coordinator drops its marker and writes Complete*."""
    cluster, raws = lab.cluster, list[tuple[RawProducer, Written, bool]]()
    for version in (1, 2):
        for outcome in ("commit", "abort"):
            topic = lab.topic(f"lost-{outcome}.leaderless-tv{version}", [2])
            raw = lab.producer(f"{topic}-id", transaction_version=version)
            raws.append((raw, raw.begin(topic, 0, f"{outcome} of", f"version {version}"), outcome == "commit"))
    cluster.stop(2)
    for raw, _, commit in raws:
        raw.end(commit)
    cluster.start(2)
    for raw, first, commit in raws:
        how = "the partition had no leader at EndTxn, so its marker was dropped"
        note_lost(lab, raw, first, commit, how)


def two_phase(lab: Lab) -> None:
    """A transaction under two-phase commit: it has no timeout, however old it becomes."""
    topic = lab.topic("two-phase", [2])
    raw = RawProducer(lab.cluster.client, "two-phase-id", timeout_ms=2**31 - 1, transaction_version=2)
    raw.producer = lab.cluster.client.init_two_phase(raw.transactional_id)
    story = "Begun by an id that takes part in two-phase commit: the coordinator never times it out."
    lab.note_open(raw, raw.begin(topic, 0, "prepared elsewhere"), "TWO_PHASE_COMMIT", "WAIT", story)
