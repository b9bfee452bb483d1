"""How long a running cluster may take to answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

# The shortest wait that librdkafka knows.
MINIMUM_S = 0.1
# What librdkafka itself waits less, so that it says why there is no answer before nobody listens any more.
MOST_GRACE_S = 2.0


@dataclass(slots=True)
class Patience:
    """So many seconds for each answer or, if `is_whole`, for all of them together from now on."""

    seconds: float
    is_whole: bool = False
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.seconds

    def left(self, share: float = 1.0) -> float:
        """For the next answer; of what is left for all a share, so that one silent broker does not use up all of it."""
        if not self.is_whole:
            return self.seconds
        return max(MINIMUM_S, (self._until - time.monotonic()) * share)


def of_request(seconds: float) -> float:
    """What librdkafka may wait for an answer for which we wait so long."""
    return max(MINIMUM_S, seconds - min(MOST_GRACE_S, seconds / 10))
