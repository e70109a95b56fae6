"""A server of `sk-microagg explore` in a process of its own, and pages that talk to it."""

import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from urllib.parse import urlsplit

import psutil

COMMAND = [sys.executable, "-P", "-m", "sk_microagg"]

# Code for a server that is used by several tests, with a long time between two of them.
PATIENT = "from sk_microagg._explore import _server; _server.SECONDS_WITHOUT_PAGES = 3600"

# Far more than anything takes here, even on a busy machine.
SECONDS = 120

# Seconds of a search or proof that no test waits for.
LONG = 3600


def wait_until(is_so, seconds=60):
    """Wait for something that must happen soon."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Answer:
    """What the server answers: the status, the headers in lower case, and the body."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    def json(self):
        return json.loads(self.body, parse_constant=_no_json)


def _no_json(text):
    raise AssertionError(f"{text} is not JSON")


class ExploreServer:
    """A server, as a browser sees it.

    Parameters
    ----------
    address : str
        The address of its page.

    process : subprocess.Popen, default=None
        Its process; None if it runs in this one.
    """

    def __init__(self, address, process=None):
        self.address, self.process = address, process
        parts = urlsplit(address)
        self.host, self.port = parts.netloc, parts.port
        self.token = parts.path.strip("/")

    @property
    def as_page(self):
        """The headers by which a browser says that the page itself asks."""
        origin = f"http://{self.host}"
        return {"Host": self.host, "Origin": origin, "Sec-Fetch-Site": "same-origin"}

    def ask(self, method, path, body=None, headers=None):
        """Send a request with exactly these headers; those of the page by default."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            headers = self.as_page if headers is None else headers
            if body is not None:
                headers = {"Content-Length": str(len(body)), **headers}
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path="", **settings):
        return self.ask("GET", f"/{self.token}/{path}", **settings)

    def post(self, name, content, **settings):
        body = json.dumps(content).encode()
        return self.ask("POST", f"/{self.token}/api/{name}", body, **settings)

    def table(self):
        return self.get("api/table").json()

    def settings(self, roles=None, **changes):
        """The settings to begin with, with other roles by names of columns, and other changes."""
        table = self.table()
        settings = {**table["settings"], **changes}
        names = [column["name"] for column in table["columns"]]
        for name, role in (roles or {}).items():
            settings["columns"][names.index(name)]["role"] = role
        return settings

    @contextmanager
    def page(self):
        """Open a page, and close it at the end."""
        page = OpenPage(self)
        try:
            yield page
        finally:
            page.close()

    def run(self, what, settings):
        """Do one job on a page of its own; return its last message."""
        with self.page() as page:
            return page.run(what, settings)

    def result(self, what, settings):
        """The result of a job that must not fail."""
        message = self.run(what, settings)
        assert message["state"] == "done", message
        return message["result"]


class OpenPage:
    """A page that is open: its stream of events, and the jobs that it starts."""

    def __init__(self, server, name=None):
        self.name = name or secrets.token_hex(16)
        self._server = server
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        path = f"/{server.token}/api/events?page={self.name}"
        self._connection.request("GET", path, headers=server.as_page)
        self._stream = self._connection.getresponse()
        assert self._stream.status == 200
        self.messages = []

    def start(self, what, settings):
        content = {"page": self.name, "what": what, "settings": settings}
        return self._server.post("start", content)

    def cancel(self, what):
        return self._server.post("cancel", {"page": self.name, "what": what})

    def next(self):
        """Wait for the next message; None if the stream has ended."""
        while line := self._stream.readline():
            if line.startswith(b"data: "):
                message = json.loads(line.removeprefix(b"data: "), parse_constant=_no_json)
                self.messages.append(message)
                return message
        return None

    def until(self, what, *states):
        """Wait for a message of a job, by default its last one."""
        while (message := self.next()) is not None:
            if message["what"] == what and (
                message["state"] in states if states else message["state"] != "running"
            ):
                return message
        raise AssertionError(f"the stream has ended before {what}: {self.messages}")

    def until_text(self, words):
        """Wait until a running job says that it does something."""
        while words not in self.until_any().get("text", ""):
            pass

    def until_any(self):
        message = self.next()
        assert message is not None, self.messages
        return message

    def run(self, what, settings):
        answer = self.start(what, settings)
        assert answer.status == 200, answer.body
        return self.until(what)

    def close(self):
        with suppress(OSError):
            self._stream.close()
        self._connection.close()


@contextmanager
def serve(table, *options, code="", cwd=None, browser=None):
    """Serve a table; end the server at the end.

    Parameters
    ----------
    table : path
        The file.

    *options : str
        Options of `explore`.

    code : str, default=""
        Python code that runs before the command, to change constants.

    cwd : path or None, default=None
        The folder that the server is started in.

    browser : path or None, default=None
        A file for the address that would be opened in a browser; by default none is.
    """
    command = COMMAND
    if browser is None:
        options = ("--no-browser", *options)
    else:
        opened = f"lambda address: open({str(browser)!r}, 'w').write(address)"
        code += f"\nimport webbrowser; webbrowser.open = {opened}"
    if code:
        main = "import sys; from sk_microagg.cli import main; sys.exit(main())"
        command = [sys.executable, "-P", "-c", f"{code}\n{main}"]
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            [*command, "explore", str(table), *options],
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # A Ctrl-C for the tests is not for the server.
        )
        try:
            line = process.stdout.readline()
            assert " is open at http://" in line, line
            yield ExploreServer(line.rsplit(" ", 1)[1].strip(), process)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            errors.seek(0)
            said = errors.read().decode().strip()
            if said:
                print(said)
    # Whatever a page sends, nothing of it is seen in the terminal.
    assert said == ""


def workers(server):
    """Processes that do jobs, which are children of the one that makes them."""
    process = psutil.Process(server.process.pid)
    return [grandchild for child in process.children() for grandchild in child.children()]


def ends_by_a_signal(server, name, code, roles=None, **changes):
    """A signal ends a server and all of its work, of which a page hears if there is time."""
    page = OpenPage(server)
    assert page.start("export", server.settings(roles, time_limit=LONG, **changes)).status == 200
    settings = server.settings(roles, certificate=LONG, **changes)
    assert page.start("certificate", settings).status == 200
    page.until_text("grouping")
    wait_until(lambda: len(workers(server)) == 2)
    process = psutil.Process(server.process.pid)
    family = process.children(recursive=True)
    if name == "SIGINT":  # as a terminal sends it
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(getattr(signal, name))
    assert server.process.wait(30) == code
    assert psutil.wait_procs(family, timeout=30)[1] == []
    if name in ("SIGINT", "SIGTERM"):
        assert page.until("server") == {"what": "server", "state": "ended"}
    page.close()
