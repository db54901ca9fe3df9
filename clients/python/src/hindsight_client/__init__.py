"""Receive per-token advantages from a Hindsight feed (``harness serve``).

    from hindsight_client import Feed

    with Feed("ws://127.0.0.1:7741", consumer="trainer-0") as feed:
        for batch in feed.batches(groups=8):      # leases a batch, waits for one where none is ready
            train(batch.to_verl())
            batch.ack()                           # exactly once: unacknowledged batches come back

The package needs numpy and websockets; with pyarrow installed batches travel as Arrow, several
times faster than as JSON.
"""

from .convert import to_skyrl, to_slime, to_trl, to_verl
from .errors import ConsumerConnected, Disconnected, FeedError, LeaseClosed, LeaseUnknown, VersionBackwards
from .feed import Batch, Feed
from .policy import PolicyServer
from .rows import Row, parse_arrow, parse_json

__all__ = [
    "Batch",
    "ConsumerConnected",
    "Disconnected",
    "Feed",
    "FeedError",
    "LeaseClosed",
    "LeaseUnknown",
    "PolicyServer",
    "Row",
    "VersionBackwards",
    "parse_arrow",
    "parse_json",
    "to_skyrl",
    "to_slime",
    "to_trl",
    "to_verl",
]
__version__ = "0.1.0"
