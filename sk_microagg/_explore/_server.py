"""The server of the page: for this machine only, and for the page that it served itself."""

import asyncio
import json
import secrets
import socket
import threading
import traceback
from collections.abc import Callable
from hmac import compare_digest
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import (
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from sk_microagg._cli._command_line import command_line
from sk_microagg._explore._page_request import PAGE, request_of
from sk_microagg._explore._page_table import OpenTable
from sk_microagg._explore._workers import JOBS, Worker, warm_up
from sk_microagg.files._messages import RequestError
from sk_microagg.release._checks import check_request

# Nothing is loaded from elsewhere, nothing runs but our own scripts, and no other page frames this.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

# A report is a page by itself: whatever is in the file, it runs nothing and reaches nothing.
REPORT = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

# Settings of a table with thousands of columns are smaller.
MOST_BYTES = 2_000_000

ADDRESS = "127.0.0.1"

# Seconds without any page after which the server ends; a page that is loaded again is away shortly.
SECONDS_WITHOUT_PAGES = 20.0

# What a request raises that is no JSON, or that ended before it was complete.
BAD_REQUEST_ERRORS = (RecursionError, ValueError, ClientDisconnect)

LOAD_AGAIN = "The request is not what this version expects: load the page again."

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

# Seconds after which something is sent, so that a closed page is noticed.
SECONDS_BETWEEN_SIGNS = 1.0

ALIVE = ": alive\n\n"
NOT_CONNECTED = "The connection of the page has ended: load it again."


class Guard:
    """Refuse requests without the token, for another host, or from another page.

    A page of another site can send requests to this machine, and a name of another site can be made
    to lead here: neither knows the token, and browsers name the host and the page truthfully.
    """

    def __init__(self, app: Any, token: str, ticket: str | None, host: str):
        self.app = app
        self.token = token
        self.ticket = ticket
        self.host = host

    async def __call__(self, scope: dict, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        answer = self._refusal(scope) or self._admission(scope) or self._refusal_of_path(scope)
        if answer is not None:
            await answer(scope, receive, _with_headers(send))
            return
        path = scope["path"].removeprefix(f"/{self.token}")
        inside = {**scope, "path": path, "raw_path": path.encode()}
        await self.app(inside, receive, _with_headers(send))

    def _refusal(self, scope: dict) -> Any:
        """The answer to a request that is refused, or None."""
        given = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin, site = given.get(b"origin"), given.get(b"sec-fetch-site", "none")
        if given.get(b"host") != self.host:
            return PlainTextResponse("This host is not served.", 403)
        if origin not in (None, f"http://{self.host}") or site not in ("none", "same-origin"):
            return PlainTextResponse("Other pages are not served.", 403)
        if scope["method"] not in ("GET", "HEAD") and origin is None:
            return PlainTextResponse("Only the page itself may ask for this.", 403)
        length = given.get(b"content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES or b"transfer-encoding" in given:
            return PlainTextResponse("The request is too large.", 413)
        return None

    def _admission(self, scope: dict) -> Any:
        """The answer to the first request with the ticket, or None."""
        is_first = self.ticket is not None and scope["method"] == "GET"
        if not is_first or not _is_same(scope["path"], f"/{self.ticket}/"):
            return None
        self.ticket = None
        return RedirectResponse(f"/{self.token}/", 303)

    def _refusal_of_path(self, scope: dict) -> Any:
        """The answer to a request without the token, or None."""
        start = f"/{self.token}/"
        if _is_same(scope["path"][: len(start)], start):
            return None
        return PlainTextResponse("There is nothing here: use the address as printed.", 404)


def _is_same(given: str, secret: str) -> Any:
    """Compare without telling by the time how much of it is right."""
    return compare_digest(given.encode(), secret.encode())


def _with_headers(send: Any) -> Any:
    """Send what is given, with the headers that every answer has."""

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            extra = [(name, value) for name, value in extra if name not in given]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return send_with_headers


class Site:
    """The answers of the server."""

    def __init__(self, table: OpenTable, on_empty: Callable[[], None]):
        self.table = table
        self.report: str | None = None
        self.pages = Pages(on_empty)
        look = files("sk_microagg.report") / "templates" / "look.css"
        own = (files("sk_microagg._explore") / "assets").iterdir()
        assets = {f"/{f.name}": f.read_bytes() for f in (look, *own) if _type(f.name)}
        assets["/"] = assets["/index.html"]
        self.app = Starlette(
            routes=[
                *[Route(path, _asset(path, content)) for path, content in assets.items()],
                Route("/api/table", self.describe),
                Route("/api/events", self.events),
                Route("/report", self.show_report),
                *[
                    Route(f"/api/{name}", _in_json(answer), methods=["POST"])
                    for name, answer in (
                        ("reload", self.reload),
                        ("check", self.check),
                        ("start", self.start),
                        ("cancel", self.cancel),
                    )
                ],
            ]
        )
        self.app.router.redirect_slashes = False

    async def describe(self, request: Any) -> Any:
        return _Json(self.table.description)

    async def events(self, request: Any) -> Any:
        """Send the messages for a page as long as it is open."""
        name = request.query_params.get("page", "")
        return StreamingResponse(self.pages.events(name), media_type="text/event-stream")

    async def show_report(self, request: Any) -> Any:
        """The report that was written last, as a page of its own."""
        try:
            content = await asyncio.to_thread(Path(self.report or "").read_bytes)
        except OSError:
            return PlainTextResponse("There is no report: export one.", 404)
        headers = {"Content-Security-Policy": REPORT}
        return Response(content, media_type="text/html", headers=headers)

    async def reload(self, body: dict) -> Any:
        _fields(body)
        self.table = await asyncio.to_thread(OpenTable, self.table.options)
        return self.table.description

    async def check(self, settings: dict) -> dict:
        """Say which command does what was chosen, or why that is not possible."""
        _fields(settings, version=str)
        self.table.check_unchanged(settings)
        try:
            request = request_of(settings, self.table.source)
            check_request(request.replace(overwrite=True))  # Files that exist are no errors yet.
        except RequestError as error:
            return {"command": None, "error": error.in_words(PAGE), "exists": []}
        return {
            "command": command_line(request, self.table.source.names),
            "error": None,
            "exists": self.table.existing(settings),
        }

    async def start(self, body: dict) -> dict:
        name, what, settings = _fields(body, page=str, what=str, settings=dict)
        _fields(settings, version=str)
        if what not in JOBS:
            raise _OtherPageError
        self.table.check_unchanged(settings)
        arguments = self.table.arguments_of_job(what, settings)
        if what == "export":
            self.report = arguments[0].report
        await self.pages.start(name, what, arguments)
        return {}

    async def cancel(self, body: dict) -> dict:
        self.pages.cancel(*_fields(body, page=str, what=str))
        return {}


class _Json(JSONResponse):
    """JSON in ASCII, since names of files may not be Unicode."""

    def render(self, content: Any) -> Any:
        return json.dumps(content, allow_nan=False).encode()


def _type(name: str) -> str | None:
    return next((kind for suffix, kind in TYPES.items() if name.endswith(suffix)), None)


def _asset(path: str, content: Any) -> Any:
    async def answer(request: Any) -> Any:
        return Response(content, media_type=_type(path) or "text/html")

    return answer


class _OtherPageError(Exception):
    """A request that no page of this version sends."""


def _fields(body: Any, **kinds: type) -> list[Any]:
    """Parts of the body of a request; raise unless it has them, of these types."""
    if not isinstance(body, dict) or any(
        not isinstance(body.get(name), kind) for name, kind in kinds.items()
    ):
        raise _OtherPageError
    return [body[name] for name in kinds]


def _in_json(answer: Callable) -> Any:
    """Let a method take and return JSON; what is not possible is explained."""

    async def answer_in_json(request: Any) -> Any:
        try:
            body = await request.json()
        except BAD_REQUEST_ERRORS:
            return _Json({"error": LOAD_AGAIN}, status_code=400)
        try:
            return _Json(await answer(body))
        except _OtherPageError:
            return _Json({"error": LOAD_AGAIN}, status_code=400)
        except RequestError as error:
            return _Json({"error": error.in_words(PAGE)}, status_code=409)
        except Exception as error:  # our own; its message may quote values
            traceback.print_exc()
            reason = f"{type(error).__name__}: the terminal says more. Please report this."
            return _Json({"error": reason}, status_code=500)

    return answer_in_json


class Server(uvicorn.Server):
    """A server of one table, which ends after its last page was closed."""

    def __init__(self, table: OpenTable, on_start: Callable[[str, str], None]):
        self._socket = socket.create_server((ADDRESS, 0))
        host = f"{ADDRESS}:{self._socket.getsockname()[1]}"
        token, ticket = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._addresses = [f"http://{host}/{secret}/" for secret in (token, ticket)]
        self._on_start = on_start
        self._end_of_waiting: asyncio.TimerHandle | None = None
        self._site = Site(table, self._end_soon)
        super().__init__(
            uvicorn.Config(
                Guard(self._site.app, token, ticket, host),
                log_config=None,
                log_level="error",
                access_log=False,
                lifespan="off",
                proxy_headers=False,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=2,
            )
        )

    def serve_page(self) -> None:
        """Serve until Ctrl-C, or until the last page was closed."""
        self.run(sockets=[self._socket])

    async def startup(self, sockets: Any = None) -> None:
        warm_up()
        await super().startup(sockets=sockets)
        # Some browsers run until they are closed: nothing waits for this thread.
        threading.Thread(target=self._on_start, args=self._addresses, daemon=True).start()

    async def shutdown(self, sockets: Any = None) -> None:
        """End all work, then all connections."""
        await self._site.pages.end()
        await super().shutdown(sockets=sockets)

    def _end_soon(self) -> None:
        if self._end_of_waiting is not None:
            self._end_of_waiting.cancel()
        loop = asyncio.get_running_loop()
        self._end_of_waiting = loop.call_later(SECONDS_WITHOUT_PAGES, self._end_if_empty)

    def _end_if_empty(self) -> None:
        self.should_exit = self.should_exit or not len(self._site.pages)


class Pages:
    """The pages that are open. All methods are called in the thread of the server."""

    def __init__(self, on_empty: Callable[[], None]):
        self._pages: dict[str, Any] = {}
        self._on_empty = on_empty
        self._is_ending = False

    def __len__(self) -> int:
        return len(self._pages)

    async def events(self, name: str):
        """Yield the messages for a page as server-sent events, until it is closed."""
        self._replace(name)
        page = self._pages[name] = _Page()
        try:
            while True:
                try:
                    message = await asyncio.wait_for(page.messages.get(), SECONDS_BETWEEN_SIGNS)
                except TimeoutError:
                    yield ALIVE
                    continue
                yield f"data: {json.dumps(message, allow_nan=False)}\n\n"
                if message["what"] == "server":
                    return
        finally:
            page.close()
            if self._pages.get(name) is page:
                del self._pages[name]
            if not self._pages:
                self._on_empty()

    async def start(self, name: str, what: str, arguments: tuple) -> None:
        if name not in self._pages or self._is_ending:
            raise RequestError("not_connected", NOT_CONNECTED)
        await self._pages[name].start(what, arguments)

    def cancel(self, name: str, what: str) -> None:
        if name in self._pages:
            self._pages[name].cancel(what)

    async def end(self) -> None:
        """Tell all pages that the server ends, and wait until all work has ended."""
        self._is_ending = True
        pages = list(self._pages.values())
        for page in pages:
            page.close()
            page.messages.put_nowait({"what": "server", "state": "ended"})
        for page in pages:
            for what in list(page.workers):
                await page.stop(what)

    def _replace(self, name: str) -> None:
        """Take the place of a connection of the same page, if there is one."""
        page = self._pages.pop(name, None)
        if page is not None:
            page.close()
            page.messages.put_nowait({"what": "server", "state": "replaced"})


class _Page:
    """A page: its messages and its running jobs."""

    def __init__(self):
        self.messages = asyncio.Queue()
        self.workers = {}
        self.is_closed = False

    async def start(self, what: str, arguments: tuple) -> None:
        # While one job ends, another request may start the next one, and the page may be closed.
        while what in self.workers:
            await self.stop(what)
        if self.is_closed:
            raise RequestError("not_connected", NOT_CONNECTED)
        loop = asyncio.get_running_loop()

        def hear(message: Any) -> None:
            loop.call_soon_threadsafe(self._hear, what, worker, message)

        worker = self.workers[what] = Worker(what, arguments, hear)
        worker.start()

    def cancel(self, what: str) -> None:
        if what in self.workers:
            self.workers[what].cancel()

    def close(self) -> None:
        """Cancel all jobs; no more can be started."""
        self.is_closed = True
        for worker in self.workers.values():
            worker.cancel()

    async def stop(self, what: str) -> None:
        """Cancel a job, and wait until it has ended. Nothing more is heard of it."""
        worker = self.workers.pop(what, None)
        if worker is not None:
            worker.cancel()
            await asyncio.to_thread(worker.wait)

    def _hear(self, what: str, worker: Worker, message: Any) -> None:
        if self.workers.get(what) is not worker:
            return
        if message["state"] != "running":
            del self.workers[what]
        self.messages.put_nowait({"what": what, **message})
