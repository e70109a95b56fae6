"""Who may talk to the server: the page that it served itself, and nobody else."""

from __future__ import annotations

from hmac import compare_digest
from typing import Any

from starlette.responses import PlainTextResponse, RedirectResponse

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

# Settings of a table with thousands of columns are smaller.
MOST_BYTES = 2_000_000


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
            extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return send_with_headers
