"""What a feed can refuse."""

from __future__ import annotations

from typing import Any


class FeedError(Exception):
    """The server refused a request. ``code`` is for programs, the message for people."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(f"{code}: {message}" + (f" (hint: {hint})" if hint else ""))
        self.code = code
        self.message = message
        self.hint = hint


class LeaseUnknown(FeedError):
    """There is no such lease in this feed."""


class LeaseClosed(FeedError):
    """The lease was acknowledged, returned or taken back before: drop the batch."""


class VersionBackwards(FeedError):
    """A policy version below the newest one was posted."""


class ConsumerConnected(FeedError):
    """Another connection of this consumer's name is open, so what is leased under it may be its own."""


class Disconnected(Exception):
    """The server did not come back within the client's ``patience``."""


_BY_CODE: dict[str, type[FeedError]] = {
    "lease_unknown": LeaseUnknown,
    "lease_closed": LeaseClosed,
    "version_backwards": VersionBackwards,
    "consumer_connected": ConsumerConnected,
}


def error_of(raw: dict[str, Any]) -> FeedError:
    """The exception for an error object of the protocol."""
    code = str(raw.get("code", "internal"))
    kind = _BY_CODE.get(code, FeedError)
    return kind(code, str(raw.get("message", "")), str(raw.get("hint", "")))
