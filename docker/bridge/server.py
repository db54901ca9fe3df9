"""Serve the sessions of an original environment over WebSocket.

    server.py --listen 127.0.0.1:8765          on an address
    server.py --socket /tmp/bridge.sock        on a Unix socket
    BRIDGE_TOKEN=secret server.py …            asks for the header "Authorization: Bearer secret"

A connection is a session; closing it ends the session. The server greets with
{"protocol": 1, "environment": NAME, "versions": {…}}. Then each request is a JSON object and gets one
answer with its "id":

    {"id": 1, "op": "reset", …}                what the environment wants to know (see its adapter)
    {"id": 2, "op": "step", "action": "look"}
    {"id": 3, "op": "close"}

An answer to reset and step is {"id", "observation", "admissible", "won", "score", "done"}, one to close
{"id"}. What went wrong is {"id", "error": TEXT, "kind": KIND}: "request" is a message that makes no
sense (the session goes on), "environment" an exception of the original (reset the session), "lost" a
session whose process died or took too long (reset it: a new process takes over), "limit" a session too
many (the connection is closed).

What an environment does is in the module `adapter` beside this file: NAME, PACKAGES (whose versions are
told), ISOLATED, configure(), and a class Session with reset(request), step(action) and close(). With
ISOLATED each session has a process of its own, forked from one that has the packages loaded: sessions
run side by side, and one that crashes, hangs or leaks harms nobody. Without it all sessions share one
thread of this process.
"""

import argparse
import asyncio
import concurrent.futures
import hmac
import http
import importlib.metadata
import json
import logging
import multiprocessing
import multiprocessing.forkserver
import os
import signal
import sys
import threading

from websockets.asyncio.server import serve, unix_serve
from websockets.exceptions import ConnectionClosed

import adapter

PROTOCOL = 1
MAX_MESSAGE = 64 << 20  # a game file is below one megabyte
log = logging.getLogger("bridge")


class Refused(Exception):
    """A request that cannot be answered; kind is the answer's."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def answer(session, request):
    """One request to a session, as the answer without its id."""
    try:
        if request["op"] == "reset":
            return session.reset(request)
        return session.step(request["action"])
    except Exception as err:  # the original raises anything
        log.warning("%s failed", request["op"], exc_info=True)
        return {"error": f"{type(err).__name__}: {err}", "kind": "environment"}


def serve_session(pipe):
    """The life of a session's own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # what the original prints is no answer
    session = adapter.Session()
    try:
        while True:
            pipe.send(answer(session, pipe.recv()))
    except (EOFError, BrokenPipeError):
        session.close()


class ProcessSession:
    """A session in a process of its own, which is started when it is first needed, and again after it
    was lost."""

    def __init__(self, server):
        self.server, self.process, self.pipe = server, None, None

    async def call(self, request):
        if self.process is None:
            if request["op"] != "reset":
                raise Refused("request", "step before reset")
            context = multiprocessing.get_context("forkserver")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=serve_session, args=(theirs,), daemon=True)
            self.process.start()
            theirs.close()
        waiting = asyncio.get_running_loop().run_in_executor(self.server.threads, self._exchange, request)
        done, _ = await asyncio.wait([waiting], timeout=self.server.limit)
        if not done:
            self._end()  # ends the waiting too
            await asyncio.wait([waiting])
            raise Refused("lost", f"no answer within {self.server.limit} seconds; the session's process was ended")
        try:
            return waiting.result()
        except (EOFError, OSError):
            code = self._end()
            raise Refused("lost", f"the session's process died (exit code {code})") from None

    def _exchange(self, request):
        self.pipe.send(request)
        return self.pipe.recv()

    def _end(self):
        process, self.process = self.process, None
        process.kill()
        process.join()
        self.pipe.close()
        code = process.exitcode
        process.close()
        return code

    async def close(self):
        if self.process is not None:
            self._end()


class ThreadSession:
    """A session in the thread that all share."""

    def __init__(self, server):
        self.server, self.session = server, None

    async def call(self, request):
        loop = asyncio.get_running_loop()
        if self.session is None:
            if request["op"] != "reset":
                raise Refused("request", "step before reset")
            self.session = adapter.Session()
        waiting = loop.run_in_executor(self.server.threads, answer, self.session, request)
        try:
            return await asyncio.wait_for(waiting, self.server.limit)
        except asyncio.TimeoutError:
            self.session = None
            raise Refused("lost", f"no answer within {self.server.limit} seconds") from None

    async def close(self):
        if self.session is not None:
            self.server.threads.submit(self.session.close)
            self.session = None


class Server:
    def __init__(self, sessions, limit, token):
        self.most, self.limit, self.token = sessions, limit, token
        self.open = 0
        self.kind = ProcessSession if adapter.ISOLATED else ThreadSession
        self.threads = concurrent.futures.ThreadPoolExecutor(sessions if adapter.ISOLATED else 1)
        self.greeting = json.dumps({
            "protocol": PROTOCOL, "environment": adapter.NAME,
            "versions": {p: version_of(p) for p in adapter.PACKAGES},
        })

    def authorize(self, connection, request):
        given = request.headers.get("Authorization", "")
        if self.token and not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "the token is missing or wrong\n")
        return None

    async def handle(self, connection):
        if self.open >= self.most:
            await connection.send(json.dumps({"error": f"all {self.most} sessions are taken", "kind": "limit"}))
            await connection.close(1013, "all sessions are taken")
            return
        self.open += 1
        session = self.kind(self)
        try:
            await connection.send(self.greeting)
            async for message in connection:
                reply = await self.reply(session, message)
                await connection.send(json.dumps(reply))
        except ConnectionClosed:
            pass
        finally:
            self.open -= 1
            await session.close()

    async def reply(self, session, message):
        ident = None
        try:
            request = parse(message)
            ident = request.get("id")
            check(request)
            if request["op"] == "close":
                await session.close()
                return {"id": ident}
            return {"id": ident} | await session.call(request)
        except Refused as err:
            return {"id": ident, "error": str(err), "kind": err.kind}
        except Exception as err:  # of the bridge itself: this session's trouble, not the server's
            log.exception("a request failed")
            return {"id": ident, "error": f"bridge: {type(err).__name__}: {err}", "kind": "lost"}


def parse(message):
    try:
        request = json.loads(message)
    except ValueError as err:
        raise Refused("request", f"the message is not JSON: {err}") from None
    if not isinstance(request, dict):
        raise Refused("request", "the message is not a JSON object")
    return request


def check(request):
    if request.get("op") not in ("reset", "step", "close"):
        raise Refused("request", f"no operation {request.get('op')!r}; there are reset, step and close")
    if request["op"] == "step" and not isinstance(request.get("action"), str):
        raise Refused("request", "a step needs an action, a string")


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


async def main(args):
    server = Server(args.sessions, args.limit, os.environ.get("BRIDGE_TOKEN", ""))
    options = {
        "process_request": server.authorize, "max_size": MAX_MESSAGE,
        "ping_interval": 60, "ping_timeout": 300, "compression": None,
    }
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for s in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(s, stop.set)
    if args.until_eof:
        threading.Thread(target=wait_for_eof, args=(loop, stop), daemon=True).start()
    if args.socket:
        starting = unix_serve(server.handle, args.socket, **options)
    else:
        host, _, port = args.listen.rpartition(":")
        starting = serve(server.handle, host.strip("[]"), int(port), **options)
    async with starting:
        print("ready", file=args.ready, flush=True)
        await stop.wait()
    os._exit(0)  # sessions that still work end with this process


def wait_for_eof(loop, stop):
    while os.read(0, 4096):
        pass
    loop.call_soon_threadsafe(stop.set)


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = ap.add_mutually_exclusive_group(required=True)
    where.add_argument("--listen", help="address, HOST:PORT")
    where.add_argument("--socket", help="path of a Unix socket")
    ap.add_argument("--sessions", type=int, default=64, help="sessions at the same time")
    ap.add_argument("--limit", type=float, default=300, help="seconds that one answer may take")
    ap.add_argument("--until-eof", action="store_true", help="end when standard input ends")
    arguments = ap.parse_args()
    # Standard output is for one word; what the original and its Java print there goes to standard error.
    arguments.ready = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s %(message)s")
    adapter.configure()
    if adapter.ISOLATED:
        multiprocessing.set_forkserver_preload(["adapter"])
        multiprocessing.forkserver.ensure_running()
    asyncio.run(main(arguments))
