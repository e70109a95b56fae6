"""The server of the page, for this machine only."""

import asyncio
import json
import secrets
import socket
import threading
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from sk_microagg._cli._errors import CommandError
from sk_microagg._cli._in_memory import check_options
from sk_microagg._cli._typed_command import command_line
from sk_microagg._explore._guard import Guard
from sk_microagg._explore._pages import Pages
from sk_microagg._explore._settings import arguments_of, parsed
from sk_microagg._explore._tables import OpenTable
from sk_microagg._explore._words import on_the_page
from sk_microagg._explore._workers import JOBS, warm_up

ADDRESS = "127.0.0.1"

# Seconds without any page after which the server ends; a page that is loaded again is away shortly.
SECONDS_WITHOUT_PAGES = 20.0

# What a request raises that no page of this version sends, or that ended before it was complete.
NOT_UNDERSTOOD = (AttributeError, KeyError, RecursionError, TypeError, ValueError, ClientDisconnect)

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


class Site:
    """The answers of the server.

    Parameters
    ----------
    table : OpenTable
        The table.

    on_empty : callable
        Is called when the last page was closed.
    """

    def __init__(self, table, on_empty):
        self.table = table
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

    async def describe(self, request):
        """Describe the table."""
        return _Json(self.table.description)

    async def events(self, request):
        """Send the messages for a page as long as it is open."""
        name = request.query_params.get("page", "")
        return StreamingResponse(self.pages.events(name), media_type="text/event-stream")

    async def reload(self, body):
        """Read the table again."""
        self.table = await asyncio.to_thread(OpenTable, self.table.options)
        return self.table.description

    async def check(self, settings):
        """Say which command does what was chosen, or why that is not possible."""
        self.table.check_unchanged(settings)
        try:
            arguments = arguments_of(settings, self.table.source)
            options = parsed(arguments)
            options.force = True  # Files that exist are told apart from errors.
            check_options(options)
        except CommandError as error:
            return {"command": None, "error": on_the_page(error), "exists": []}
        return {
            "command": command_line(arguments),
            "error": None,
            "exists": self.table.existing(settings),
        }

    async def start(self, body):
        """Start a job of a page."""
        name, what, settings = body["page"], body["what"], body["settings"]
        if what not in JOBS:
            raise ValueError(f"{what!r} is no job")
        self.table.check_unchanged(settings)
        await self.pages.start(name, what, self.table.arguments_of_job(what, settings))
        return {}

    async def cancel(self, body):
        """Cancel a job of a page."""
        self.pages.cancel(body["page"], body["what"])
        return {}


class _Json(JSONResponse):
    """JSON in ASCII, since names of files may not be Unicode."""

    def render(self, content):
        return json.dumps(content, allow_nan=False).encode()


def _type(name):
    """The type of an asset; None for other files."""
    return next((kind for suffix, kind in TYPES.items() if name.endswith(suffix)), None)


def _asset(path, content):
    async def answer(request):
        return Response(content, media_type=_type(path) or "text/html")

    return answer


def _in_json(answer):
    """Let a method take and return JSON; what is not possible is explained."""

    async def answer_in_json(request):
        try:
            return _Json(await answer(await request.json()))
        except CommandError as error:
            return _Json({"error": on_the_page(error)}, status_code=409)
        except NOT_UNDERSTOOD:
            reason = "The request is not what this version expects: load the page again."
            return _Json({"error": reason}, status_code=400)

    return answer_in_json


class Server(uvicorn.Server):
    """A server of one table, which ends after its last page was closed.

    Parameters
    ----------
    table : OpenTable
        The table.

    on_start : callable
        Is called with the address of the page when that can be opened, and with another one, which
        leads to it once.
    """

    def __init__(self, table, on_start):
        self._socket = socket.create_server((ADDRESS, 0))
        host = f"{ADDRESS}:{self._socket.getsockname()[1]}"
        token, ticket = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._addresses = [f"http://{host}/{secret}/" for secret in (token, ticket)]
        self._on_start = on_start
        self._end_of_waiting = None
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

    def serve_page(self):
        """Serve until Ctrl-C, or until the last page was closed."""
        self.run(sockets=[self._socket])

    async def startup(self, sockets=None):
        """Begin to serve, and say so."""
        warm_up()
        await super().startup(sockets=sockets)
        # Some browsers run until they are closed: nothing waits for this thread.
        threading.Thread(target=self._on_start, args=self._addresses, daemon=True).start()

    async def shutdown(self, sockets=None):
        """End all work, then all connections."""
        await self._site.pages.end()
        await super().shutdown(sockets=sockets)

    def _end_soon(self):
        if self._end_of_waiting is not None:
            self._end_of_waiting.cancel()
        loop = asyncio.get_running_loop()
        self._end_of_waiting = loop.call_later(SECONDS_WITHOUT_PAGES, self._end_if_empty)

    def _end_if_empty(self):
        self.should_exit = self.should_exit or not len(self._site.pages)
