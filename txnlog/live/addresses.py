"""The names in an address of brokers."""

from __future__ import annotations

import socket

from txnlog.config import ADDRESS
from txnlog.errors import ClusterError


def check_names(bootstrap: str) -> None:
    """`ClusterError` at once where no name in it is known: librdkafka would ask again until its time is over."""
    trouble: OSError | None = None
    for each in filter(None, (part.strip() for part in bootstrap.split(","))):
        found = ADDRESS.fullmatch(each)
        try:
            socket.getaddrinfo(found["host"] if found else each, None)
        except (OSError, UnicodeError) as error:
            trouble = error if isinstance(error, OSError) else OSError(0, "no name of a host")
        else:
            return
    if trouble is not None:
        raise ClusterError(f"{bootstrap}: {trouble.strerror}") from trouble
