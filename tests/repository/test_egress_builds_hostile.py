"""Hostile builds get nowhere: to nothing of this machine, and to no host but the indexes."""

import json
import secrets
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from package_index import proxy_with_password, serving
from repository.ways_out import backend, own_index
from repository_fixtures import write

from selfplay.repository import prepare
from selfplay.sandbox import Backend

__all__ = ["backend", "own_index"]

ATTACK = """
import json, os, socket, urllib.request

report = {}


def attempt(name, action):
    try:
        report[name] = str(action())
    except Exception as error:
        report[name] = "no: %s" % error


def through(path, request):
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        line = bytes([13, 10])  # setuptools would replace it, written as a text
        link.sendall(request.encode() + line + line)
        return link.recv(1000).split(line)[0].decode()


def fetch(url):
    return urllib.request.urlopen(url, timeout=10).read()[:100]


port, abstract = PORT, "ABSTRACT"
attempt("loopback", lambda: socket.create_connection(("127.0.0.1", port), 5))
attempt("loopback by its other name", lambda: socket.create_connection(("::1", port), 5))
attempt("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + abstract))
attempt("the host's docker", lambda: socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock"))
attempt("dns", lambda: socket.getaddrinfo("example.org", 443))
attempt("address", lambda: socket.create_connection(("151.101.0.223", 443), 5))
attempt("datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53)))
attempt("proxied loopback", lambda: fetch("http://127.0.0.1:%d/" % port))
attempt("proxied metadata", lambda: fetch("http://169.254.169.254/latest/meta-data/"))
attempt("proxied host", lambda: fetch("https://example.com/"))
attempt("tunnel to loopback", lambda: through("/build/egress.sock", "CONNECT 127.0.0.1:%d HTTP/1.1" % port))
attempt("tunnel to localhost", lambda: through("/build/egress.sock", "CONNECT localhost:%d HTTP/1.1" % port))
attempt("tunnel to a number", lambda: through("/build/egress.sock", "CONNECT 2130706433:%d HTTP/1.1" % port))
attempt("other socket", lambda: os.listdir("/build"))
attempt("writing", lambda: open("/build/egress.py", "a"))
server = socket.socket()
attempt("binding the host's port", lambda: [server.bind(("0.0.0.0", port)), server.listen()] and "its own")
attempt("interfaces", lambda: [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line])
attempt("resolver", lambda: open("/etc/resolv.conf").read())
report["variables"] = json.dumps(dict(os.environ))
with open("report.json", "w") as stream:
    json.dump(report, stream)
"""


@pytest.fixture
def hidden() -> Iterator[tuple[int, str, list[object]]]:
    """A port of the host's loopback, an abstract socket, and who connected to either."""
    came: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as loopback, socket.socket(socket.AF_UNIX) as abstract:
        name = f"selfplay-egress-{secrets.token_hex(8)}"  # the one of the test before may still be held by its thread
        abstract.bind("\0" + name)
        abstract.listen()

        def accept(listener: socket.socket) -> None:
            try:
                while True:
                    came.append(listener.accept())
            except OSError:  # the test is over
                return

        for listener in (loopback, abstract):
            threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield loopback.getsockname()[1], name, came
        for listener in (loopback, abstract):
            listener.shutdown(socket.SHUT_RDWR)


def test_a_hostile_build_gets_nowhere(
    backend: Backend, cache: Path, tmp_path: Path, hidden: tuple[int, str, list[object]], own_index: pytest.MonkeyPatch
) -> None:
    """All of these succeeded when a build had the host's network, and the password was in its environment."""
    port, abstract, came = hidden
    attack = ATTACK.replace("PORT", str(port)).replace("ABSTRACT", abstract)
    folder = write(tmp_path / "hostile", {"Makefile": "all:\n", "main.c": "", "attack.py": attack})
    with proxy_with_password("someone", "hunter2") as (theirs, _), serving({}) as (index, _):
        own_index.setenv("HTTPS_PROXY", f"http://someone:hunter2@127.0.0.1:{theirs}")
        own_index.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{index}/simple")
        prepared = prepare(str(folder), backend=backend, cache=cache, setup="python3 attack.py")
    report = json.loads((prepared.tree / "report.json").read_text())
    variables = report.pop("variables")
    assert "hunter2" not in variables and str(theirs) not in variables
    assert report.pop("binding the host's port") == "its own"
    assert (report.pop("interfaces"), report.pop("resolver")) == ("['lo']", "")
    assert sorted(eval(report.pop("other socket"))) == ["ca.pem", "egress.py", "egress.sock", "uv"]
    allowed = {name: said for name, said in report.items() if not said.startswith(("no: ", "HTTP/1.1 403 "))}
    assert allowed == {} and came == []
    note = next(note for note in prepared.notes if "asked for" in note)
    assert f"127.0.0.1:{port}" in note and "--allow-host example.com:443" in note


@pytest.mark.slow
def test_a_hostile_setup_py_gets_nowhere_while_it_installs(
    backend: Backend, cache: Path, tmp_path: Path, hidden: tuple[int, str, list[object]]
) -> None:
    """With the real index, as a user has it: `setup.py` runs in the step that installs the project."""
    port, abstract, came = hidden
    attack = ATTACK.replace("PORT", str(port)).replace("ABSTRACT", abstract)
    setup = f"{attack}\nfrom setuptools import setup\nsetup(name='hostile', py_modules=['hostile'])\n"  # run 3 times
    test = "import hostile\n\ndef test():\n    assert hostile\n"
    folder = write(tmp_path / "setup", {"setup.py": setup, "hostile.py": "", "test_hostile.py": test})
    prepared = prepare(str(folder), backend=backend, cache=cache)
    report = json.loads((prepared.tree / "report.json").read_text())
    for name in ("variables", "binding the host's port", "interfaces", "resolver", "other socket"):
        report.pop(name)
    allowed = {name: said for name, said in report.items() if not said.startswith(("no: ", "HTTP/1.1 403 "))}
    assert allowed == {} and came == []
