"""The harness's commands and its policy server, for scripts."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hindsight_client import Row
from hindsight_client.rows import row_of


class Harness:
    """Calls the command with one ledger."""

    def __init__(self, command: str, db: Path) -> None:
        self.command, self.db = command, db

    def call(self, *args: str) -> str:
        """Run a subcommand on the ledger and return what it prints; its own words where it fails."""
        done = subprocess.run([self.command, *args, "--db", str(self.db)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"harness {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def export(self, run: str) -> str:
        """The rows of a run with its newest credit, a JSON object per line."""
        return self.call("export", "--run", run, "--format", "jsonl", "--out", "-")

    def rows(self, run: str) -> list[Row]:
        """The rows of a run with its newest credit."""
        return rows_of(self.export(run))

    def episode(self, number: int) -> dict[str, Any]:
        """Everything that is recorded of an episode."""
        value: dict[str, Any] = json.loads(self.call("show", str(number), "--json"))
        return value


def rows_of(text: str) -> list[Row]:
    """The rows of exported JSON lines."""
    return [row_of(json.loads(line)) for line in text.splitlines()]


@contextmanager
def server(command: str, *args: str) -> Iterator[str]:
    """Start a serving subcommand on a free port; gives its address without the scheme."""
    process = subprocess.Popen([command, *args, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        said = ""
        for line in process.stderr:
            said += line
            if found := re.search(r"on https?://([\d.:]+)", line):
                yield found.group(1)
                return
        raise RuntimeError(f"harness {' '.join(args)}: {said.strip()}")
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()
