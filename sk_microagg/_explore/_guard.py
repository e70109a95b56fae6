"""Who may talk to the server: the page that it served itself, and nobody else."""

from hmac import compare_digest

from starlette.responses import PlainTextResponse

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

    Parameters
    ----------
    app : callable
        The application (ASGI). It sees paths without the token.

    token : str
        What addresses begin with.

    host : str
        The address and port that the server listens on.
    """

    def __init__(self, app, token, host):
        self.app = app
        self.token = token
        self.host = host

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
            return
        path = scope["path"].removeprefix(f"/{self.token}")
        inside = {**scope, "path": path, "raw_path": path.encode()}
        await self.app(inside, receive, _with_headers(send))

    def _refusal(self, scope):
        """The answer to a request that is refused, or None."""
        given = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin, site = given.get(b"origin"), given.get(b"sec-fetch-site", "none")
        if given.get(b"host") != self.host:
            return PlainTextResponse("This host is not served.", 403)
        if origin not in (None, f"http://{self.host}") or site not in ("none", "same-origin"):
            return PlainTextResponse("Other pages are not served.", 403)
        if scope["method"] not in ("GET", "HEAD") and origin is None:
            return PlainTextResponse("Only the page itself may ask for this.", 403)
        token = scope["path"].lstrip("/").partition("/")[0]
        is_known = compare_digest(token.encode(), self.token.encode())
        if not is_known or not scope["path"].startswith(f"/{self.token}/"):
            return PlainTextResponse("There is nothing here: use the address as printed.", 404)
        length = given.get(b"content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES or b"transfer-encoding" in given:
            return PlainTextResponse("The request is too large.", 413)
        return None


def _with_headers(send):
    """Send what is given, with the headers that every answer has."""

    async def send_with_headers(message):
        if message["type"] == "http.response.start":
            extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return send_with_headers
