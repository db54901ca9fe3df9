from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hindsight_client import Batch, ConsumerConnected, Disconnected, Feed, FeedError, LeaseClosed, LeaseUnknown, Row, VersionBackwards
from hindsight_client.rows import row_of

Serve = Callable[..., Any]


def same(a: Row, b: Row) -> None:
    for name in Row.__slots__:
        x, y = getattr(a, name), getattr(b, name)
        if isinstance(x, np.ndarray):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y, err_msg=name)
        else:
            assert x == y, name


@pytest.mark.parametrize("form", ["arrow", "json"])
def test_every_row_comes_once_and_equals_the_export(serve: Serve, exported: str, form: str) -> None:
    if form == "arrow":
        pytest.importorskip("pyarrow")
    want = {raw["step_id"]: row_of(raw) for raw in map(json.loads, exported.splitlines())}
    server, got = serve(), {}
    with Feed(server.url, consumer="test", format=form) as feed:
        for batch in feed.batches(groups=2):
            assert len({r.group for r in batch}) <= 2 and batch.tokens == batch.header["tokens"]
            for r in batch:
                assert r.step_id not in got
                got[r.step_id] = r
            batch.ack()
            batch.ack()
        status = feed.status()
    assert status["acked"] == 6 and status["rows"] == len(want) == len(got)
    for key, row in got.items():
        same(want[key], row)
        parts = row.reward_parts
        assert (row.reward, row.won, row.score) == (parts["episode"], parts["won"], parts["score"]) and row.won in (True, False)
        assert row.tokens == len(row.need("advantages")) == len(row.need("teacher_logprobs")) == len(row.need("weights"))


def test_errors_are_typed(serve: Serve) -> None:
    with Feed(serve().url) as feed:
        with pytest.raises(LeaseUnknown):
            feed.ack("nobody's")
        batch, drained = feed.lease()
        assert batch is not None and not drained
        batch.extend(600)
        batch.give_back("no memory")
        with pytest.raises(LeaseClosed):
            batch.ack()
        with pytest.raises(FeedError, match="groups is -1"):
            feed.lease(groups=-1)
        first = feed.version()
        assert feed.post_version(first + 3) == feed.version() == first + 3
        with pytest.raises(VersionBackwards):
            feed.post_version(first + 2)


def test_lease_is_taken_up_again_under_its_id(serve: Serve) -> None:
    server = serve()
    with Feed(server.url) as feed:
        batch, _ = feed.lease(groups=2, lease_id="mine")
    server.kill()
    server.start()
    with Feed(server.url) as feed:
        again, _ = feed.lease(groups=1, lease_id="mine")
        assert batch is not None and again is not None
        assert [r.step_id for r in batch] == [r.step_id for r in again]
        feed.ack("mine")


def test_iterator_survives_a_killed_server(serve: Serve) -> None:
    server, seen = serve(), []
    with Feed(server.url, max_wait=0.2) as feed:
        for batch in feed.batches():
            server.kill()
            threading.Timer(0.1, server.start).start()
            batch.ack()
            seen += [r.group for r in batch if r.step == 0 and r.sample == 0]
    assert sorted(seen) == list(range(6))


def test_a_restarted_trainer_takes_back_what_it_lost(serve: Serve) -> None:
    server = serve()
    dead = Feed(server.url, consumer="trainer-0")
    done, _ = dead.lease(groups=1)
    lost, _ = dead.lease(groups=2)
    assert done is not None and lost is not None
    with Feed(server.url, consumer="trainer-1") as other, Feed(server.url, consumer="trainer-0", max_wait=0.2) as feed:
        theirs, _ = other.lease(groups=1)
        assert theirs is not None
        with pytest.raises(ConsumerConnected, match="trainer-0"):
            feed.lost(wait=0.1)
        dead.close()  # as the death of its process does
        feed.ack(done.lease)  # it was in the checkpoint
        assert feed.lost() == [lost.lease]
        assert feed.lost() == []
        with pytest.raises(LeaseClosed):
            feed.ack(lost.lease)
        theirs.ack()
        groups = sorted({r.group for batch in _acked(feed) for r in batch})
        gone = {r.group for batch in (done, theirs) for r in batch}
        assert groups == [g for g in range(6) if g not in gone]
        assert feed.status()["acked"] == 6


def _acked(feed: Feed) -> Iterator[Batch]:
    for batch in feed.batches():
        batch.ack()
        yield batch


def test_who_waits_is_told_why(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="hindsight_client")
    server = serve()
    with Feed(server.url, consumer="trainer-0") as first:
        batch, _ = first.lease(groups=5, ttl=600)
        last, _ = first.lease(groups=1, ttl=60)
        assert batch is not None and last is not None and first.held == []
        for name, level in (("trainer-0", "WARNING"), ("trainer-1", "INFO")):
            caplog.clear()
            with Feed(server.url, consumer=name) as feed:
                for _ in range(2):
                    nothing, drained = feed.lease()
                    assert nothing is None and not drained
                assert [(h["consumer"], h["groups"]) for h in feed.held] == [("trainer-0", 1), ("trainer-0", 5)]
            said = [(r.levelname, r.getMessage()) for r in caplog.records]
            assert len(said) == 2 and {lv for lv, _ in said} == {level}
            assert "1 group leased to trainer-0 until" in said[0][1] and "5 groups leased to trainer-0 until" in said[1][1]
            assert ("Feed.lost()" in said[0][1]) == (name == "trainer-0")
        last.give_back()
        batch.give_back()


def test_each_lease_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="hindsight_client")
    feed = Feed("ws://127.0.0.1:9", consumer="trainer-0")

    def told(*held: tuple[str, str]) -> list[str]:
        caplog.clear()
        feed.held = [{"consumer": name, "groups": 1, "expires": expires, "in_ms": 5000} for name, expires in held]
        feed._tell()
        return [r.getMessage() for r in caplog.records]

    assert len(told(("a", "12:00"), ("b", "12:01"))) == 2
    assert [("leased to b " in m, "12:09" in m) for m in told(("a", "12:00"), ("b", "12:09"))] == [(True, True)]
    assert told(("b", "12:09"), ("a", "12:00")) == told() == []
    forged = told(("c\nERROR all is lost", "12:00"))
    assert len(forged) == 1 and "\n" not in forged[0] and r"'c\nERROR all is lost'" in forged[0]


def test_lost_needs_a_name() -> None:
    with pytest.raises(ValueError, match="consumer"):
        Feed("ws://127.0.0.1:9").lost()


def test_patience_ends() -> None:
    waits: list[float] = []
    clock = iter(range(1000))
    with Feed("ws://127.0.0.1:9", patience=5, sleep=waits.append, clock=lambda: float(next(clock))) as feed:
        with pytest.raises(Disconnected, match="127.0.0.1:9"):
            feed.status()
    assert waits == sorted(waits) and waits


def test_token_is_needed(serve: Serve) -> None:
    server = serve(env={"HARNESS_FEED_TOKEN": "secret"})
    with Feed(server.url, token="wrong") as feed, pytest.raises(FeedError, match="unauthorized"):
        feed.status()
    with Feed(server.url, token="secret") as feed:
        assert feed.status()["ready"] == 6


def test_addresses_are_checked() -> None:
    for bad in ("127.0.0.1:7741", "ftp://host", "ws://"):
        with pytest.raises(ValueError, match="feed address"):
            Feed(bad)
    with pytest.raises(ValueError, match="format"):
        Feed("ws://host", format="xml")
    assert Feed("https://host/feed/").url == "wss://host/feed/v1/ws"


def test_threads_share_a_feed(serve: Serve) -> None:
    got: list[int] = []
    with Feed(serve().url) as feed:

        def work() -> None:
            while True:
                batch, drained = feed.lease(wait=0.2)
                if isinstance(batch, Batch):
                    got.extend(r.step_id for r in batch)
                    batch.ack()
                elif drained:
                    return

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(got) == len(set(got)) > 0
