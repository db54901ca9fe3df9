"""What the README shows runs as it is written there, against real servers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hindsight_client import Batch, Feed, PolicyServer

README = Path(__file__).resolve().parents[1] / "README.md"


def test_a_trainer_in_ten_lines(serve: Callable[..., Any], policy: str, stories: Path) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len([line for line in text.splitlines() if line.strip() and not line.startswith(("from", "import"))]) < 10
    feed_url = serve().url
    text = text.replace("ws://127.0.0.1:7741", feed_url).replace("http://127.0.0.1:8000", policy)
    seen: list[int] = []

    def update(batch: Batch) -> Path:
        assert batch.to_verl()["batch"]["advantages"].shape[0] == len(batch)
        seen.append(len(batch))
        return stories

    before = int(PolicyServer(policy).version())
    exec(compile(text, str(README), "exec"), {"update": update})
    assert len(seen) == 3  # 6 groups
    with Feed(feed_url) as feed:
        assert feed.status()["acked"] == 6 and feed.version() == before + 3
    assert PolicyServer(policy).version() == str(before + 3)
