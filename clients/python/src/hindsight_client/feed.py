"""The connection: leases, acknowledgements, policy versions, reconnects."""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Optional
from urllib.parse import urlsplit, urlunsplit

from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from . import convert
from .errors import ConsumerConnected, Disconnected, FeedError, LeaseClosed, error_of
from .rows import Row, parse_arrow, parse_json

_SOON = 2.0  # seconds after which a trainer that gets nothing learns why

log = logging.getLogger("hindsight_client")


def _have_arrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


class Batch:
    """A leased batch of whole groups. Acknowledge it once its update is safe (a checkpoint is written);
    until then it is held for you, and comes back to somebody when its time is over."""

    def __init__(self, feed: "Feed", header: dict[str, Any], rows: list[Row]) -> None:
        self.feed = feed
        self.header = header
        self.rows = rows

    @property
    def lease(self) -> str:
        """The id to acknowledge the batch by; keep it with your checkpoint."""
        return str(self.header["lease"])

    @property
    def config_hash(self) -> str:
        """Hash of everything that decided the batch's numbers."""
        return str(self.header["config_hash"])

    @property
    def tokens(self) -> int:
        """Response tokens of all rows."""
        return sum(r.tokens for r in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def ack(self) -> None:
        """Say that the batch is used up. LeaseClosed where it went to somebody else meanwhile."""
        self.feed.ack(self.lease)

    def give_back(self, reason: str = "") -> None:
        """Return the batch: its groups are ready again at once."""
        self.feed.give_back(self.lease, reason)

    def extend(self, seconds: float) -> None:
        """Hold the batch for so long from now."""
        self.feed.extend(self.lease, seconds)

    def to_verl(self, **options: Any) -> dict[str, Any]:
        """See :func:`hindsight_client.to_verl`."""
        return convert.to_verl(self.rows, **options)

    def to_trl(self) -> dict[str, Any]:
        """See :func:`hindsight_client.to_trl`."""
        return convert.to_trl(self.rows)

    def to_skyrl(self) -> dict[str, Any]:
        """See :func:`hindsight_client.to_skyrl`."""
        return convert.to_skyrl(self.rows)

    def to_slime(self) -> list[dict[str, Any]]:
        """See :func:`hindsight_client.to_slime`."""
        return convert.to_slime(self.rows)


class Feed:
    """A client of one feed. Methods may be called from several threads; they take turns.

    A lost connection is opened again, with waits that grow to ``max_wait`` seconds, and the request is
    repeated: every request of the protocol may be. ``Disconnected`` is raised after ``patience``
    seconds without a server.

    ``consumer`` names the trainer, and no other one: it comes back under its name after a restart (see
    :meth:`lost`).
    """

    def __init__(
        self,
        url: str,
        *,
        consumer: str = "",
        token: Optional[str] = None,
        format: Optional[str] = None,
        patience: float = 300.0,
        max_wait: float = 5.0,
        ssl: Any = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        parts = urlsplit(url)
        scheme = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}.get(parts.scheme)
        if scheme is None or not parts.netloc:
            raise ValueError(f"feed address {url!r}: want ws://, wss://, http:// or https:// and a host")
        self.url = urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") + "/v1/ws", "", ""))
        self.consumer = consumer
        self.format = format or ("arrow" if _have_arrow() else "json")
        if self.format not in ("arrow", "json"):
            raise ValueError(f"format {format!r}: want arrow or json")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._patience, self._max_wait, self._ssl = patience, max_wait, ssl
        self._sleep, self._clock = sleep, clock
        self._conn: Optional[ClientConnection] = None
        self._open = ExitStack()  # closes the connection
        self._lock = threading.Lock()
        self._next_id = 0
        self.held: list[dict[str, Any]] = []
        """Who holds groups, as of the last request that got no batch: ``consumer``, ``groups``, ``expires``, ``in_ms``."""
        self._told: set[tuple[Any, ...]] = set()

    def __enter__(self) -> "Feed":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. Leases stay as they are."""
        with self._lock:
            self._drop()

    # The requests.

    def lease(
        self, *, groups: int = 1, tokens: int = 0, ttl: Optional[float] = None, wait: float = 0.0, lease_id: Optional[str] = None
    ) -> tuple[Optional[Batch], bool]:
        """Lease up to ``groups`` groups (fewer once they exceed ``tokens`` prompt and response tokens) for
        ``ttl`` seconds, waiting up to ``wait`` seconds for one to be ready. Returns the batch, or None and
        whether the feed is drained: nothing is left and nothing will come. ``lease_id`` takes a batch up
        again that is held under this id."""
        message: dict[str, Any] = {
            "op": "lease", "lease": lease_id or uuid.uuid4().hex, "consumer": self.consumer, "groups": groups, "tokens": tokens,
            "wait_ms": int(wait * 1000), "format": self.format,
        }
        if ttl is not None:
            message["ttl_ms"] = int(ttl * 1000)
        answer, body = self._call(message)
        self.held = answer.get("held") or []
        if body is None:
            self._tell()
            return None, bool(answer.get("drained", False))
        header, rows = parse_json(body) if isinstance(body, str) else parse_arrow(body)
        return Batch(self, header, rows), False

    def batches(self, *, groups: int = 1, tokens: int = 0, ttl: Optional[float] = None, wait: float = 60.0) -> Iterator[Batch]:
        """Batches until the feed is drained. A batch that was neither acknowledged nor given back when the
        next one is asked for stays leased until its time is over. Where nothing comes because groups are
        leased, the log says by whom and for how long."""
        lease_id, soon = uuid.uuid4().hex, min(wait, _SOON)
        patience = soon
        while True:
            try:
                batch, drained = self.lease(groups=groups, tokens=tokens, ttl=ttl, wait=patience, lease_id=lease_id)
            except LeaseClosed:  # it ran out while the connection was down
                lease_id = uuid.uuid4().hex
                continue
            if drained:
                return
            patience = wait
            if batch is not None:
                lease_id, patience = uuid.uuid4().hex, soon
                yield batch

    def ack(self, lease: str) -> None:
        """Acknowledge a lease; harmless when it is acknowledged already. LeaseUnknown, LeaseClosed."""
        self._call({"op": "ack", "lease": lease, "consumer": self.consumer})

    def give_back(self, lease: str, reason: str = "") -> None:
        """Return a lease. LeaseUnknown, LeaseClosed."""
        self._call({"op": "return", "lease": lease, "consumer": self.consumer, "reason": reason})

    def extend(self, lease: str, seconds: float) -> None:
        """Hold a lease for so long from now. LeaseUnknown, LeaseClosed."""
        self._call({"op": "extend", "lease": lease, "consumer": self.consumer, "ttl_ms": int(seconds * 1000)})

    def lost(self, wait: float = 70.0) -> list[str]:
        """Say that this trainer has nothing any more of what it leased under its name: after a restart, once
        what its checkpoint contains is acknowledged. All of it is ready again at once; the leases are
        returned. ConsumerConnected where another connection of the name stays open for ``wait`` seconds (the
        server notices after 60 that one broke without a word)."""
        if not self.consumer:
            raise ValueError("lost: this feed has no consumer's name, so nothing is leased under it: Feed(…, consumer=…)")
        give_up, pause = self._clock() + wait, 0.05
        while True:
            try:
                answer, _ = self._call({"op": "lost", "consumer": self.consumer})
                return [str(lease) for lease in answer.get("lost") or []]
            except ConsumerConnected as err:
                if self._clock() + pause > give_up:
                    raise
                log.info("%s; again in %.2f s", err, pause)
                self._sleep(pause)
                pause = min(2 * pause, self._max_wait)

    def post_version(self, version: int) -> int:
        """Say that the policy has a new version; returns the newest one. VersionBackwards."""
        answer, _ = self._call({"op": "version", "version": version, "consumer": self.consumer})
        return int(answer["version"])

    def version(self) -> int:
        """The newest policy version that was posted; -1 where none was."""
        answer, _ = self._call({"op": "version"})
        return int(answer["version"])

    def status(self) -> dict[str, int]:
        """How many groups are open, waiting for credit, ready, held, acked and empty, and what was delivered."""
        answer, _ = self._call({"op": "status"})
        status: dict[str, int] = answer["status"]
        return status

    def _tell(self) -> None:
        """Log, once for each, the leases that keep groups from this trainer: a warning where they are of its
        own name."""
        before, self._told = self._told, set()
        for h in self.held:
            this = (h.get("consumer"), h.get("groups"), h.get("expires"))
            self._told.add(this)
            if this in before:
                continue
            name, groups = str(h.get("consumer", "")), int(h.get("groups", 0))
            shown = name if name.isprintable() else repr(name)  # others make names up
            text = f"nothing is ready: {groups} group{'s' * (groups != 1)} leased to {shown or 'a consumer without a name'}"
            left = int(h.get("in_ms", 0)) / 1000
            text += f" until {h.get('expires')}; back in {left:.0f} s at the latest" if left else ", whose time is over"
            if name and name == self.consumer:
                log.warning("%s. If this trainer has lost them in a restart, Feed.lost() gives them back now", text)
            else:
                log.info("%s", text)

    # The connection.

    def _call(self, message: dict[str, Any]) -> tuple[dict[str, Any], str | bytes | None]:
        with self._lock:
            give_up = self._clock() + self._patience
            pause = 0.05
            while True:
                try:
                    return self._once(message)
                except FeedError as err:
                    if err.code not in ("stopping", "too_many"):
                        raise
                    lost: Exception = err
                except InvalidHandshake as err:
                    status = getattr(getattr(err, "response", None), "status_code", 0)
                    if status in (401, 403):
                        self._drop()
                        raise FeedError("unauthorized", "the server refused the token", "pass token=…") from err
                    lost = err
                except (OSError, ConnectionClosed, EOFError, TimeoutError) as err:
                    lost = err
                self._drop()
                if self._clock() + pause > give_up:
                    raise Disconnected(f"{self.url}: {lost}") from lost
                log.warning("feed connection lost (%s); again in %.2f s", lost, pause)
                self._sleep(pause)
                pause = min(2 * pause, self._max_wait)

    def _once(self, message: dict[str, Any]) -> tuple[dict[str, Any], str | bytes | None]:
        if self._conn is None:
            opened = connect(self.url, additional_headers=self._headers, max_size=None, compression=None, ssl=self._ssl, close_timeout=1)
            self._conn = self._open.enter_context(opened)
        self._next_id += 1
        self._conn.send(json.dumps({**message, "id": self._next_id}))
        answer = json.loads(self._conn.recv())
        if answer.get("id") != self._next_id:
            raise ConnectionResetError(f"the answer is to request {answer.get('id')}, not {self._next_id}")
        if not answer.get("ok"):
            raise error_of(answer.get("error") or {})
        if "batch" not in answer:
            return answer, None
        return answer, self._conn.recv()

    def _drop(self) -> None:
        self._conn = None
        with suppress(Exception):  # it is lost or not wanted any more: how it closes does not matter
            self._open.close()
