"""The server answers its own page, and nobody else."""

import json
import os
import secrets
import shlex
import socket
import sys
from urllib.parse import urlsplit

import psutil
import pytest
from servers import PATIENT, OpenPage, ends_by_a_signal, serve, wait_until

pytestmark = pytest.mark.slow  # Servers start slowly.

N = 300
TABLE = "\n".join(["id,count,size,class", *(f"{i},{i**2 % 97},{i / 8},{i % 2}" for i in range(N))])
TABLE += "\n"

HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def is_protected(answer):
    policy = answer.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not any("unsafe" in part or "http" in part or "*" in part for part in policy)
    return {name: answer.headers.get(name) for name in HEADERS} == HEADERS


@pytest.fixture
def is_alive(visits_server):
    """The server must go on after whatever it was sent."""
    yield
    assert visits_server.get("api/table").status == 200


@pytest.mark.parametrize("path", ["", "explore.css", "explore.js", "api/table", "api/other"])
def test_without_the_token_there_is_nothing(visits_server, path):
    token = visits_server.token
    for wrong in ["", "x", secrets.token_urlsafe(24), token[:-1], token + "x", token.swapcase()]:
        for start in (f"/{wrong}/", f"//{token}/", f"/x/{token}/", f"/{wrong}/../{token}/"):
            answer = visits_server.ask("GET", f"{start}{path}")
            assert answer.status == 404
            assert is_protected(answer)
            assert token not in answer.body.decode()
    assert visits_server.ask("GET", f"/{token}").status == 404


@pytest.mark.parametrize(
    "host", ["localhost:{}", "evil.example:{}", "127.0.0.1", "[::1]:{}", "127.0.0.1.nip.io:{}", ""]
)
def test_another_host(visits_server, host):
    headers = {**visits_server.as_page, "Host": host.format(visits_server.port)}
    answer = visits_server.get("api/table", headers=headers)
    assert answer.status == 403
    assert is_protected(answer)


@pytest.mark.parametrize(
    "changes",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://localhost:{}"},
        {"Origin": "https://127.0.0.1:{}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_another_page(visits_server, changes):
    given = {name: value.format(visits_server.port) for name, value in changes.items()}
    headers = visits_server.as_page | given
    for answer in (
        visits_server.get("api/table", headers=headers),
        visits_server.get("api/events?page=x", headers=headers),
        visits_server.post("check", visits_server.settings(), headers=headers),
        visits_server.post("start", {}, headers=headers),
    ):
        assert answer.status == 403
        assert is_protected(answer)
        assert b"visits" not in answer.body


@pytest.mark.parametrize("name", ["check", "start", "cancel", "reload"])
def test_only_a_page_may_change_something(visits_server, name):
    headers = {"Host": visits_server.host}
    assert visits_server.post(name, {}, headers=headers).status == 403
    assert visits_server.get(f"api/{name}").status == 405


@pytest.mark.parametrize(
    "path",
    [
        "../_server.py",
        "..%2f_server.py",
        "%2e%2e/_server.py",
        "..%5c_server.py",
        "assets/../../_server.py",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "....//_server.py",
        "explore.css%00.py",
        "explore.css/",
        "EXPLORE.CSS",
        "_server.py",
        "api/table/",
        "%ff%fe",
    ],
)
def test_nothing_but_the_assets(visits_server, path):
    answer = visits_server.get(path)
    assert answer.status == 404
    assert is_protected(answer)
    assert visits_server.token not in answer.body.decode() + str(answer.headers)


@pytest.mark.usefixtures("is_alive")
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "FOO"])
def test_other_methods(visits_server, method):
    for path in (f"/{visits_server.token}/", f"/{visits_server.token}/api/table"):
        answer = visits_server.ask(method, path)
        assert answer.status in (400, 405)
        assert b"visits" not in answer.body


@pytest.mark.usefixtures("is_alive")
def test_a_body_that_is_too_large(visits_server):
    path = f"/{visits_server.token}/api/check"
    for headers in (
        {"Content-Length": "3000000"},
        {"Content-Length": "99999999999999999999"},
        {"Transfer-Encoding": "chunked"},
    ):
        answer = visits_server.ask("POST", path, headers=visits_server.as_page | headers)
        assert answer.status == 413
        assert is_protected(answer)


@pytest.mark.usefixtures("is_alive")
@pytest.mark.parametrize("name", ["start", "cancel"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"5",
        b'"x"',
        b"[" * 200_000,
        b'{"page": [], "what": {}}',
    ],
    ids=lambda body: body[:20].decode("latin-1"),
)
def test_a_request_that_makes_no_sense(visits_server, name, body):
    answer = visits_server.ask("POST", f"/{visits_server.token}/api/{name}", body)
    assert answer.status == 400
    assert is_protected(answer)
    assert "load the page again" in answer.json()["error"]


@pytest.mark.usefixtures("is_alive")
def test_settings_that_make_no_sense(visits_server):
    for settings in (b"", b"5", b"[]", b"[" * 200_000):
        answer = visits_server.ask("POST", f"/{visits_server.token}/api/check", settings)
        assert answer.status == 400
        assert "load the page again" in answer.json()["error"]
    version = visits_server.table()["version"]
    assert visits_server.post("check", {}).status == 400
    for settings in ({}, {"columns": 5}, {"columns": [{}] * 6}):
        answer = visits_server.post("check", {**settings, "version": version})
        assert answer.status == 200
        assert "load the page again" in answer.json()["error"]
        assert answer.json()["command"] is None
    content = {"page": "x", "what": "shell", "settings": visits_server.settings()}
    assert visits_server.post("start", content).status == 400


@pytest.mark.usefixtures("is_alive")
def test_bytes_that_are_no_request(visits_server):
    path = f"POST /{visits_server.token}/api/check HTTP/1.1\r\nHost: {visits_server.host}\r\n"
    origin = f"Origin: http://{visits_server.host}\r\n"
    for sent in (
        b"\x16\x03\x01",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        f"{path}{path}\r\n".encode(),
        f"{path}Host: evil.example\r\n{origin}\r\n".encode(),
        f"{path}{origin}Content-Length: 50\r\n\r\n{{".encode(),  # and then the connection ends
        f"{path}{origin}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n".encode(),
    ):
        with socket.create_connection(("127.0.0.1", visits_server.port), timeout=60) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            received = connection.recv(1000)
        assert b" 200 " not in received
        assert b" 101 " not in received
        assert b"visits" not in received


def test_every_answer_is_protected(visits_server):
    assert is_protected(visits_server.get())
    assert is_protected(visits_server.get("explore.css"))
    assert is_protected(visits_server.get("api/table"))
    assert is_protected(visits_server.get("nothing"))
    assert is_protected(visits_server.post("check", visits_server.settings()))
    types = {"": "html", "explore.css": "css", "explore.js": "javascript", "api/table": "json"}
    for path, kind in types.items():
        assert kind in visits_server.get(path).headers["content-type"]


def test_nothing_but_this_machine(visits_server):
    process = psutil.Process(visits_server.process.pid)
    sockets = process.net_connections() if hasattr(process, "net_connections") else []
    listening = {c.laddr for c in sockets if c.status == psutil.CONN_LISTEN}
    assert listening == {("127.0.0.1", visits_server.port)}
    others = {
        address.address
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET and not address.address.startswith("127.")
    }
    for address in others:
        with socket.socket() as connection:
            connection.settimeout(5)
            assert connection.connect_ex((address, visits_server.port)) != 0


def test_the_token_is_seen_nowhere(visits_server):
    visits_server.result("preview", visits_server.settings())
    for path in ("", "explore.css", "explore.js", "api.js", "api/table"):
        assert visits_server.token not in visits_server.get(path).body.decode()
    process = psutil.Process(visits_server.process.pid)
    for one in (process, *process.children(recursive=True)):
        assert visits_server.token not in " ".join(one.cmdline())
        assert visits_server.token not in str(one.environ())


def test_two_pages_at_once(visits_server):
    settings = visits_server.settings({"diagnosis": "sensitive"}, certificate=3600)
    with visits_server.page() as one, visits_server.page() as other:
        assert one.start("certificate", settings).status == 200
        assert other.start("certificate", settings).status == 200
        assert one.start("preview", settings | {"k": 7}).status == 200
        assert other.start("preview", settings | {"k": 9}).status == 200
        assert one.until("preview")["result"]["k"] == 7
        assert other.until("preview")["result"]["k"] == 9
        assert one.cancel("certificate").status == 200
        assert one.until("certificate")["state"] == "canceled"
        # The other's goes on.
        assert other.run("preview", settings | {"k": 8})["result"]["k"] == 8
        assert {m["state"] for m in other.messages if m["what"] == "certificate"} == {"running"}
        assert other.cancel("certificate").status == 200
        assert other.until("certificate")["state"] == "canceled"


def test_a_page_must_be_open_to_start_work(visits_server):
    settings = visits_server.settings()
    content = {"page": "unknown", "what": "preview", "settings": settings}
    answer = visits_server.post("start", content)
    assert answer.status == 409
    assert "load it again" in answer.json()["error"]
    with visits_server.page() as page:
        pass
    while page.start("preview", settings).status == 200:  # until the server has noticed
        pass
    assert page.start("preview", settings).status == 409


def test_a_second_connection_takes_the_place_of_the_first(visits_server):
    one = OpenPage(visits_server)
    other = OpenPage(visits_server, one.name)
    assert one.until("server") == {"what": "server", "state": "replaced"}
    assert other.run("preview", visits_server.settings())["state"] == "done"
    one.close()
    other.close()


# No Unicode, where files can be named so.
NAME = "\udce9.csv" if sys.platform == "linux" else "changing.csv"


@pytest.fixture(scope="module")
def own_server(tmp_path_factory):
    """A server of a table that tests change."""
    path = tmp_path_factory.mktemp("changing") / NAME
    path.write_text(TABLE)
    opened = tmp_path_factory.mktemp("browser") / "opened"
    with serve(path, "--na", "none", code=PATIENT, browser=opened) as server:
        server.path, server.opened = path, opened
        yield server


@pytest.fixture
def changing(own_server):
    """The file of that server, as it was at first."""
    own_server.path.write_text(TABLE)
    assert own_server.post("reload", {}).status == 200
    return own_server.path


def test_what_the_browser_was_started_with_is_valid_once(own_server):
    server, opened = own_server, own_server.opened
    wait_until(lambda: opened.exists() and opened.read_text().endswith("/"))
    address = urlsplit(opened.read_text())
    assert address.netloc == server.host
    assert server.token not in address.path
    assert server.ask("HEAD", address.path).status == 404
    assert server.ask("GET", address.path + "api/table").status == 404
    foreign = {**server.as_page, "Origin": "https://evil.example"}
    assert server.ask("GET", address.path, headers=foreign).status == 403
    as_browser = {"Host": server.host, "Sec-Fetch-Site": "none"}
    answer = server.ask("GET", address.path, headers=as_browser)
    assert (answer.status, answer.headers["location"]) == (303, f"/{server.token}/")
    assert is_protected(answer)
    again = server.ask("GET", address.path, headers=as_browser)
    assert again.status == 404
    assert server.token not in again.body.decode() + str(again.headers)


def test_tokens_differ(visits_server, own_server):
    assert own_server.token != visits_server.token
    assert len(own_server.token) >= 32
    # The page of one server is another page to the other.
    assert own_server.get("api/table", headers=visits_server.as_page).status == 403
    assert own_server.ask("GET", f"/{visits_server.token}/").status == 404


def test_a_file_that_changes(own_server, changing, write_rows):
    settings = own_server.settings()
    names, *rows = [line.split(",") for line in TABLE.splitlines()]
    with own_server.page() as page:

        def refusals():
            return [own_server.post("check", settings), page.start("export", settings)]

        changing.write_text(TABLE + f"{N},7,0.5,a\n")
        for answer in refusals():
            assert answer.status == 409
            assert "has changed since it was read: read it again" in answer.json()["error"]
        table = own_server.post("reload", {}).json()
        assert table["n_records"] == N + 1
        assert table == own_server.table()
        settings["version"] = table["version"]
        assert own_server.post("check", settings).json()["error"] is None
        # The same number of columns, but others: what was to be dropped would be released.
        write_rows(changing, names[::-1], *[row[::-1] for row in rows])
        own_server.post("reload", {})
        for answer in refusals():
            assert answer.status == 409
            assert "columns" in answer.json()["error"]
        del settings["version"]
        assert [answer.status for answer in refusals()] == [400, 400]
        write_rows(changing, names[:3], *[row[:3] for row in rows])
        settings["version"] = own_server.post("reload", {}).json()["version"]
        assert "load the page again" in own_server.post("check", settings).json()["error"]
        assert page.start("export", settings).status == 409
    assert [*changing.parent.iterdir()] == [changing]


def test_a_file_that_vanishes_or_cannot_be_read(own_server, changing):
    settings = own_server.settings()
    changing.unlink()
    for answer in (own_server.post("check", settings), own_server.post("reload", {})):
        assert answer.status == 409
        assert "cannot be read: No such file" in answer.json()["error"]
    changing.mkdir()
    assert own_server.post("reload", {}).status == 409
    changing.rmdir()
    changing.write_text("id,id\n1,2\n")
    answer = own_server.post("reload", {})
    assert answer.status == 409
    assert "names of columns must differ" in answer.json()["error"]
    assert own_server.post("check", settings).status == 409
    if os.geteuid() != 0:  # Nothing is closed to the superuser.
        changing.chmod(0)
        assert "Permission denied" in own_server.post("reload", {}).json()["error"]
        changing.chmod(0o600)
    changing.write_text(TABLE)
    assert own_server.post("reload", {}).status == 200
    assert own_server.post("check", settings).json()["error"] is None


def test_a_file_whose_name_need_not_be_unicode(own_server, changing):
    table = json.loads(own_server.get("api/table").body)
    assert table["name"] == changing.name == NAME
    assert own_server.result("preview", table["settings"])["k"] == 5


def test_what_a_server_says_of_jobs_that_fail(own_server, changing):
    settings = own_server.settings(k=N + 1)
    message = own_server.run("preview", settings)
    assert message["state"] == "failed"
    assert f"k={N + 1}" in message["error"]
    # The same settings, checked before.
    answer = own_server.post("check", settings).json()
    assert "--na=none" in shlex.split(answer["command"])


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
def test_a_signal_ends_the_server_and_all_work(own_server, changing):
    """The last test of this file: no other needs that server."""
    ends_by_a_signal(own_server, "SIGTERM", 143)
    assert [*changing.parent.iterdir()] == [changing]


BUG = """
from sk_microagg._explore import _server
def fail(*arguments): raise KeyError("a bug")
_server.command_line = fail
"""


def test_an_error_of_our_own_is_shown_in_the_terminal(visits, capfd):
    answers = []

    def check():
        with serve(visits, code=BUG) as server:
            answers.append(server.post("check", server.settings()))

    with pytest.raises(AssertionError):  # The terminal is not silent.
        check()
    assert answers[0].status == 500
    assert answers[0].json()["error"] == "KeyError: the terminal says more. Please report this."
    assert "KeyError: 'a bug'" in capfd.readouterr().out
