from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from hindsight_client import FeedError, PolicyServer


class Stub(BaseHTTPRequestHandler):
    """Notes what is asked; refuses updates whose path names a broken file."""

    asked: list[tuple[str, Any, str]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body, self.headers.get("Authorization", "")))
        broken = "broken" in json.dumps(body)
        self.answer(400 if broken else 200, {"error": {"message": "not a complete file"}} if broken else {})

    def do_GET(self) -> None:
        self.answer(200, {"weight_version": "7"})

    def answer(self, status: int, body: Any) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def stub() -> Iterator[str]:
    Stub.asked = []
    with HTTPServer(("127.0.0.1", 0), Stub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_load_pauses_updates_labels_and_resumes(stub: str, tmp_path: Path) -> None:
    PolicyServer(stub + "/", api_key="k").load(tmp_path / "w.gguf", 3, mode="keep")
    assert [(path, body) for path, body, _ in Stub.asked] == [
        ("/pause?mode=keep", {}),
        ("/update_weights", {"update_info": {"path": str(tmp_path / "w.gguf")}, "weight_version": "3"}),
        ("/finish_weight_update", {"weight_version": "3"}),
        ("/resume", {}),
    ]
    assert {key for *_, key in Stub.asked} == {"Bearer k"}
    assert PolicyServer(stub).version() == "7"


def test_a_refused_update_resumes_and_says_why(stub: str) -> None:
    with pytest.raises(FeedError, match="not a complete file") as raised:
        PolicyServer(stub).load("broken.gguf", 3)
    assert raised.value.code == "http_400" and [path for path, *_ in Stub.asked] == ["/pause?mode=wait", "/update_weights", "/resume"]


def test_nobody_listens() -> None:
    with pytest.raises(FeedError, match="harness model serve"):
        PolicyServer("http://127.0.0.1:9", timeout=5).version()


def test_real_weights_are_loaded(policy: str, stories: Path, tmp_path: Path) -> None:
    server = PolicyServer(policy)
    version = int(server.version()) + 1
    server.load(stories, version)
    assert server.version() == str(version)
    part = tmp_path / "part.gguf"
    part.write_bytes(stories.read_bytes()[:1000])
    with pytest.raises(FeedError, match="part.gguf"):
        server.load(part, version + 1)
    assert server.version() == str(version)
