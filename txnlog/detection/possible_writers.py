"""Which other transactions of its producer id may have written the data of an open one: SQL for `conditions`."""

from __future__ import annotations

# Which epochs an end at `{}` can be of, by the data's epochs: before version 2 that of the data, with it the next one.
NO_LATER = "if(coalesce({}.client_transaction_version, 2) < 2, 0, 1)"
_NO_EARLIER = "if(coalesce({}.client_transaction_version, 0) < 2, 0, 1)"


def may_be_of(abort: str) -> str:
    """Whether the data may be of an aborted transaction that listed the partition, by epochs and brokers' times."""
    # An abort by the coordinator ends at the epoch after the data's. Of data below the log start the first epoch is not
    # known.
    lowest = f"coalesce(first_producer_epoch, 0) + {_NO_EARLIER.format(abort)}"
    is_its_epoch = f"({abort}.epoch BETWEEN {lowest} AND producer_epoch + 1)"
    return (
        f"({is_its_epoch}"
        # A late write of it comes after its end, and is dated before that by its producer.
        f" AND NOT coalesce(started_after > {abort}.ended_timestamp"
        f" AND first_timestamp > {abort}.timestamp + clock_skew_ms, false)"
        f" AND NOT coalesce(bounded_by + clock_skew_ms < {abort}.start_timestamp, false))"
    )


def cuts_in_two(end: str, previous: str) -> str:
    """Whether a request that came late may have ended the transaction, while its producer was still writing it."""
    # With version 2 no end before it is of its epoch.
    return (
        f"({end}.epoch BETWEEN coalesce(first_producer_epoch, {end}.epoch) AND producer_epoch"
        f" AND {end}.timestamp - {end}.{previous} <= padding_ms"
        f" AND NOT coalesce(started_after > {end}.timestamp + late_after_ms, false) AND NOT is_of_current)"
    )


def is_followed(end: str) -> str:
    """Whether the data was written after a later transaction than `end` had ended there, by brokers' clocks."""
    return (
        f"coalesce(listing.prepared.offset > {end}.offset AND marker_came"
        " AND (started_after > listing.prepared.timestamp"
        f" OR last_end.max_timestamp > {end}.ended_timestamp + clock_skew_ms), false)"
    )


def may_own_unlisted(which: str) -> str:
    """Whether the data may be of one of the commits that may not list all partitions, which does not list its own."""
    return (
        f"exists(unlisting_commits, each -> {which} AND NOT exists(each.topic_partitions,"
        " listed -> listed.topic = topic AND listed.partition = partition)"
        f" AND each.epoch >= coalesce(first_producer_epoch, 0) + {_NO_EARLIER.format('each')}"
        f" AND each.lowest_epoch <= producer_epoch + {NO_LATER.format('each')}"
        " AND NOT coalesce(started_after > each.timestamp, false)"
        " AND NOT coalesce(bounded_by + clock_skew_ms < each.since, false))"
    )
