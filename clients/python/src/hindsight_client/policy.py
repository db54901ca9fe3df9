"""The server whose weights a trainer replaces: ``harness model serve``, over vLLM's endpoints."""

from __future__ import annotations

import json
import os
from typing import Any, Optional
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from .errors import FeedError


class PolicyServer:
    """A client of a policy server's control endpoints (``/pause``, ``/update_weights``,
    ``/finish_weight_update``, ``/resume``, ``/weight_info``)."""

    def __init__(self, url: str, *, api_key: Optional[str] = None, timeout: float = 600.0) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {api_key}"} if api_key else {})}
        self._timeout = timeout

    def load(self, weights: str | os.PathLike[str], version: int, *, mode: str = "wait") -> None:
        """Serve the weights of a file, which must be readable where the server runs, as ``version``.

        ``mode`` decides about responses under way: "wait" lets them end under the old weights, "keep"
        freezes them and goes on with the new ones (each token carries the version of its own), "abort"
        ends them. The server answers again also if loading fails; then it serves the old weights.
        """
        path = os.path.abspath(os.fspath(weights))
        self._post(f"/pause?mode={mode}", {})
        try:
            self._post("/update_weights", {"update_info": {"path": path}, "weight_version": str(version)})
            self._post("/finish_weight_update", {"weight_version": str(version)})
        finally:
            self._post("/resume", {})

    def version(self) -> str:
        """The label of the weights that are served."""
        return str(self._call(Request(self.url + "/weight_info", headers=self._headers))["weight_version"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._call(Request(self.url + path, json.dumps(body).encode(), self._headers))

    def _call(self, request: Request) -> dict[str, Any]:
        try:
            with urlopen(request, timeout=self._timeout) as answer:
                value: dict[str, Any] = json.load(answer)
                return value
        except HTTPError as err:
            with err:
                raise _refused(err.code, err.read()) from err
        except URLError as err:
            raise FeedError("unreachable", f"{self.url}: {err.reason}", "start it: harness model serve --gguf FILE") from err


def _refused(status: int, body: bytes) -> FeedError:
    try:
        message = str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = body.decode(errors="replace")[:500]
    return FeedError("unauthorized" if status == 401 else f"http_{status}", message)
