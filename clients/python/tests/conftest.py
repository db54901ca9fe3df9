"""A real server: the command is built with go (or taken from HARNESS_BIN) and serves a real run."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


def library(name: str, module: str = "") -> Any:
    """A module of a library that need not be installed: else its tests are skipped, unless HARNESS_LIBRARIES says that it is."""
    if name in os.environ.get("HARNESS_LIBRARIES", "").split():
        return importlib.import_module(module or name)
    return pytest.importorskip(module or name, reason=f"{name} is not installed: HARNESS_E2E=1 clients/python/test.sh installs it", exc_type=ImportError)


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("HARNESS_BIN")
    if given:
        return Path(given)
    if shutil.which("go") is None:
        pytest.skip("no go to build the server with: set HARNESS_BIN to a built harness")
    out = tmp_path_factory.mktemp("bin") / "harness"
    subprocess.run(["go", "build", "-o", str(out), "./cmd/harness"], cwd=ROOT, check=True)
    return out


@pytest.fixture(scope="session")
def ledger(harness: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the reference model with teacher log-probabilities and credit."""
    db = tmp_path_factory.mktemp("ledger") / "run.db"

    def call(*args: str) -> None:
        subprocess.run([str(harness), *args, "--db", str(db)], check=True, capture_output=True, text=True)

    call("rollout", "--policy", "refmodel", "--group", "3", "--tasks", "6", "--max-steps", "4", "--name", "run", "--quiet")
    call("score", "--run", "run", "--mode", "immediate_feedback", "--quiet")
    call("credit", "--run", "run", "--score", "immediate_feedback")
    return db


class Server:
    def __init__(self, harness: Path, db: Path, feed: str, *more: str, env: dict[str, str] | None = None) -> None:
        self._args = [str(harness), "serve", "--db", str(db), "--feed", feed, *more]
        self._env = {**os.environ, **(env or {})}
        self.address = ""
        self.start("127.0.0.1:0")

    def start(self, listen: str | None = None) -> None:
        self.process = subprocess.Popen(
            [*self._args, "--listen", listen or self.address], stderr=subprocess.PIPE, text=True, env=self._env
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"serving on https?://([\d.:]+)", line)
        assert found, line + self.process.stderr.read()
        self.address = found.group(1)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()

    @property
    def url(self) -> str:
        return f"ws://{self.address}"


@pytest.fixture
def serve(harness: Path, ledger: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Server]]:
    """Starts servers of a feed named for the test: each test gets every group."""
    started: list[Server] = []

    def start(*more: str, env: dict[str, str] | None = None) -> Server:
        server = Server(harness, ledger, request.node.name, *more, env=env)
        started.append(server)
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.kill()


@pytest.fixture(scope="session")
def exported(harness: Path, ledger: Path) -> str:
    """All rows as JSON lines, by the other way out of the ledger."""
    done = subprocess.run(
        [str(harness), "export", "--db", str(ledger), "--format", "jsonl", "--out", "-"], check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture(scope="session")
def stories() -> Path:
    """A small real model that the tests share, or a skip."""
    path = Path(os.environ.get("HARNESS_SHARED", ROOT.parent / "shared")) / "data/models/stories260K.gguf"
    if not path.exists():
        pytest.skip("no stories260K.gguf: set HARNESS_SHARED to the folder of test data")
    return path


@pytest.fixture(scope="session")
def policy(harness: Path, stories: Path) -> Iterator[str]:
    """A server of that model, or a skip where the library that runs it is not installed."""
    process = subprocess.Popen(
        [str(harness), "model", "serve", "--gguf", str(stories), "--deterministic", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"on (http://[\d.:]+)", line)
    if found is None:
        said = line + process.stderr.read()
        if "harness model install" in said:
            pytest.skip(f"the library that runs GGUF files is not installed: {said}")
        pytest.fail(f"harness model serve: {said}")
    yield found.group(1)
    process.kill()
    process.wait()
    process.stderr.close()
