"""OpenEnv's own client, from PyPI, against ``harness env serve --protocol openenv``."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conftest import library

library("openenv")

from openenv.core import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient

from hindsight_client.openenv import HindsightAction, HindsightEnv


class EnvServer:
    def __init__(self, harness: Path, *args: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [str(harness), "env", "serve", *args, "--protocol", "openenv", "--listen", "127.0.0.1:0"],
            stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})},
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"(https?://[\d.:]+)", line)
        assert found, line + self.process.stderr.read()
        self.url = found.group(1)

    def stop(self) -> str:
        self.process.terminate()
        assert self.process.stderr is not None
        out = self.process.stderr.read()
        self.process.wait(30)
        return out


Serve = Callable[..., EnvServer]


@pytest.fixture
def serve(harness: Path) -> Iterator[Serve]:
    servers: list[EnvServer] = []

    def start(*args: str, **kw: Any) -> EnvServer:
        servers.append(EnvServer(harness, *args, **kw))
        return servers[-1]

    yield start
    for s in servers:
        if s.process.poll() is None:
            s.stop()


@pytest.mark.parametrize("env", ["alfworld", "webshop"])
def test_episode(serve: Serve, env: str) -> None:
    server = serve(env, "--max-steps", "5")
    with HindsightEnv(base_url=server.url).sync() as client:
        assert client.state().episode_id is None
        result = client.reset(seed=3, episode_id="mine")
        first = result.observation
        assert first.text and first.task and first.admissible
        assert result.reward is None and not result.done
        assert first.metadata["episode_id"] == "mine" and first.metadata["env"] == env and first.metadata["step"] == 0
        steps = 0
        while not result.done:
            result = client.step(HindsightAction(text=result.observation.admissible[0]))
            steps += 1
        assert result.metadata is not None and result.metadata["step"] == steps <= 5
        assert isinstance(result.reward, (int, float))
        state = client.state()
        assert state.step_count == steps and state.done and state.task_id == first.metadata["task_id"] and state.seed == 3
        again = client.reset(task_id=first.metadata["task_id"])
        assert again.observation.text == first.text and again.observation.task == first.task
        with pytest.raises(RuntimeError, match=r"no task .*VALIDATION_ERROR"):
            client.reset(task_id="none such")
        with pytest.raises(RuntimeError, match="a reset takes seed"):
            client.reset(taskid="x")
        assert client.step("look").observation.metadata["step"] == 1  # errors leave the episode alone
    assert "1 session" in server.stop()


def test_seeds_choose_tasks(serve: Serve) -> None:
    server = serve("alfworld")
    with HindsightEnv(base_url=server.url).sync() as a, HindsightEnv(base_url=server.url).sync() as b:
        ids = [a.reset(seed=s).metadata["task_id"] for s in range(24)]
        assert len(set(ids)) == 24  # the embedded panel, each task once
        assert [b.reset(seed=s).metadata["task_id"] for s in range(3)] == ids[:3]
        assert a.reset(split="train", index=0).metadata["split"] == "train"


def test_capacity(serve: Serve) -> None:
    server = serve("alfworld", "--max-sessions", "2")
    with GenericEnvClient(base_url=server.url) as a, GenericEnvClient(base_url=server.url) as b:
        a.reset()
        b.reset()
        for _ in range(3):
            with pytest.raises(RuntimeError, match=r"2/2 sessions active.*CAPACITY_REACHED"):
                GenericEnvClient(base_url=server.url).reset()
    for _ in range(20):  # a place is free as soon as its client has said goodbye
        with GenericEnvClient(base_url=server.url) as c:
            assert c.reset().observation["text"]


def test_many_sessions_at_once(serve: Serve) -> None:
    server = serve("alfworld", "--max-sessions", "16")

    def play(seed: int) -> list[str]:
        texts = []
        with HindsightEnv(base_url=server.url).sync() as env:
            result = env.reset(seed=seed % 4)
            for i in range(10):
                admissible = result.observation.admissible
                result = env.step(admissible[(7 * i) % len(admissible)])
                texts.append(result.observation.text)
        return texts

    with ThreadPoolExecutor(16) as pool:
        played = list(pool.map(play, range(16)))
    assert all(played[i] == played[i % 4] for i in range(16))  # the engine is deterministic, sessions are apart


def test_idle_sessions_end(serve: Serve) -> None:
    server = serve("alfworld", "--idle", "3s")  # longer than a step takes, on a slow machine too

    async def wait() -> None:
        env = HindsightEnv(base_url=server.url)
        await env.connect()
        await env.reset()
        assert env._ws is not None
        await asyncio.wait_for(env._ws.wait_closed(), 30)
        with pytest.raises(RuntimeError, match="no episode is under way"):
            await env.step("look")  # openenv's client has connected anew: the old episode is gone
        await env.close()

    asyncio.run(wait())


def test_async_and_new_sessions(serve: Serve) -> None:
    server = serve("alfworld", "--max-sessions", "4")

    async def play() -> None:
        async with HindsightEnv(base_url=server.url) as env:
            await env.reset(seed=1)
            child = await env.new_session()
            await child.reset(seed=2)
            one, two = await asyncio.gather(env.step("look"), child.step("look"))
            assert one.metadata["episode_id"] != two.metadata["episode_id"]

    asyncio.run(play())


def test_tools(serve: Serve) -> None:
    server = serve("alfworld")

    async def play() -> None:
        async with MCPToolClient(base_url=server.url) as env:
            await env.reset(seed=0)
            assert [t.name for t in await env.list_tools()] == ["act"]
            seen = await env.call_tool("act", text="look")
            assert seen["text"] and "reward" not in seen
            assert (await env.state()).step_count == 1
            with pytest.raises(RuntimeError, match="text: Field required"):
                await env.call_tool("act")

    asyncio.run(play())


def test_token(serve: Serve) -> None:
    server = serve("alfworld", env={"HARNESS_ENV_TOKEN": "secret"})
    with pytest.raises(ConnectionError, match="401"):
        GenericEnvClient(base_url=server.url).connect()
    with GenericEnvClient(base_url=server.url, headers={"Authorization": "Bearer secret"}) as env:
        assert env.reset().observation["text"]


def test_openenv_validates_the_server(serve: Serve) -> None:
    validation = library("openenv", "openenv.cli._validation")
    server = serve("webshop")
    report = validation.validate_running_environment(server.url)
    assert report["passed"] and report["mode"] == "simulation", report["summary"]
