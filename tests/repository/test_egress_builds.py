"""Where real builds get to, on both backends: to the indexes, and to nothing else of this machine or beyond."""

import json
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from package_index import own_authority, package_index, proxy_with_password, serving
from repository_fixtures import write

from selfplay.repository import BuildFailed, prepare, rebuild, write_original
from selfplay.repository.building.environment import _uv
from selfplay.repository.building.interpreters import choose
from selfplay.repository.errors import SourceError
from selfplay.repository.network.egress import Egress, examine_egress, open_egress
from selfplay.repository.network.indexes import configured, for_sandbox
from selfplay.sandbox import Backend, Completed, Mount, Sandbox, World, open_backend

SETTINGS = ("INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS", "DEFAULT_INDEX", "INDEX")
CA = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
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
attempt("interfaces", lambda: [name for _, name in socket.if_nameindex()])
attempt("resolver", lambda: open("/etc/resolv.conf").read())
report["variables"] = json.dumps(dict(os.environ))
with open("report.json", "w") as stream:
    json.dump(report, stream)
"""


@pytest.fixture(scope="module", params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def backend(request: pytest.FixtureRequest) -> Backend:
    return open_backend(request.param)


@pytest.fixture
def hidden() -> Iterator[tuple[int, str, list[object]]]:
    """A port of the host's loopback, an abstract socket, and who connected to either."""
    came: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as loopback, socket.socket(socket.AF_UNIX) as abstract:
        name = f"selfplay-egress-{os.getpid()}"
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


@pytest.fixture
def own_index(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing configured for pip or uv, and no proxy."""
    for tool in ("PIP", "UV"):
        for setting in SETTINGS:
            monkeypatch.delenv(f"{tool}_{setting}", raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr("selfplay.repository.network.indexes._pip_files", dict)
    return monkeypatch


@contextmanager
def building(backend: Backend, hosts: Sequence[str] = ()) -> Iterator[tuple[Egress, Sandbox]]:
    """A sandbox as a build has it, with the way out."""
    env, mounts = for_sandbox(configured())
    python = choose(None, None)
    prefix = (Mount(python.prefix, str(python.prefix)),) if python.prefix else ()
    with open_egress(backend, hosts) as egress:
        shown = (*mounts, *prefix, *egress.mounts, Mount(_uv(), "/build/uv"))
        env = {**env, "UV_CACHE_DIR": "/tmp/uv", "PYTHON": str(python.executable), "UV_HTTP_RETRIES": "0"}
        with backend.open(World(mounts=shown, env=env)) as sandbox:
            egress.check(sandbox)
            assert not egress.why_not
            yield egress, sandbox


def install(egress: Egress, sandbox: Sandbox) -> Completed:
    command = 'cd /tmp && /build/uv pip install --python "$PYTHON" --target /tmp/got parcel && cat /tmp/got/parcel.py'
    return sandbox.run(egress.leading(command), timeout=60, cwd="/", merge_stderr=True)


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


def test_an_index_on_the_hosts_loopback_and_no_other_port(backend: Backend, own_index: pytest.MonkeyPatch) -> None:
    with package_index() as (url, _, fetched), serving({"/": b"secret"}) as (other, asked):
        own_index.setenv("PIP_INDEX_URL", url)
        with building(backend) as (egress, sandbox):
            assert "WHERE = 'from the index'" in install(egress, sandbox).text
            look = sandbox.run(egress.leading(f"curl -sS http://127.0.0.1:{other}/"), timeout=20, cwd="/")
            assert f"may not reach 127.0.0.1:{other}" in look.text and "secret" not in look.text
    assert len(fetched) >= 1 and asked == []


def test_an_index_with_an_authority_of_its_own(backend: Backend, own_index: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tls, authority = own_authority(tmp_path)
    with package_index(tls) as (url, _, _):
        own_index.setenv("PIP_INDEX_URL", url)
        for name in CA:
            own_index.setenv(name, str(authority))
        with building(backend) as (egress, sandbox):
            assert "WHERE = 'from the index'" in install(egress, sandbox).text


@pytest.mark.slow
def test_pip_uses_the_same_index(backend: Backend, own_index: pytest.MonkeyPatch) -> None:
    """A user's `--setup` may call it."""
    with package_index() as (url, _, _):
        own_index.setenv("UV_INDEX_URL", url)
        with building(backend) as (egress, sandbox):
            command = '"$PYTHON" -m pip install --target /tmp/got parcel && cat /tmp/got/parcel.py'
            done = sandbox.run(egress.leading(command), timeout=100, cwd="/tmp", merge_stderr=True)
            assert "WHERE = 'from the index'" in done.text


def test_the_users_proxy_is_chained_and_its_password_stays_outside(
    backend: Backend, own_index: pytest.MonkeyPatch
) -> None:
    with package_index() as (url, _, _), proxy_with_password("someone", "hunter2") as (theirs, heads):
        own_index.setenv("PIP_INDEX_URL", url)
        own_index.setenv("HTTP_PROXY", f"http://someone:hunter2@127.0.0.1:{theirs}")
        with building(backend) as (egress, sandbox):
            assert "WHERE = 'from the index'" in install(egress, sandbox).text and heads
            everything = sandbox.run(egress.leading("env; cat /proc/*/environ"), timeout=20, cwd="/").text
            assert "hunter2" not in everything and str(theirs) not in everything


def test_a_host_that_the_user_allows(backend: Backend, own_index: pytest.MonkeyPatch) -> None:
    with package_index() as (url, _, _), serving({"/": b"allowed"}) as (port, _):
        own_index.setenv("PIP_INDEX_URL", url)
        with building(backend, [f"127.0.0.1:{port}"]) as (egress, sandbox):
            done = sandbox.run(egress.leading(["curl", "-sS", f"http://127.0.0.1:{port}/"]), timeout=20, cwd="/")
            assert done.text == "allowed" and not egress.proxy.refused


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "code"),
    [("true", 0), ("exit 7", 7), ("kill -KILL $$", -9), ("kill -TERM $$", -15), (["/no/such"], 127), (["/tmp"], 126)],
)
def test_the_command_ends_as_it_would_without_the_way_out(
    backend: Backend, own_index: pytest.MonkeyPatch, command: str | list[str], code: int
) -> None:
    with serving({}) as (port, _):
        own_index.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        with building(backend) as (egress, sandbox):
            without = sandbox.run(command, timeout=20)
            done = sandbox.run(egress.leading(command), timeout=20)
            assert done.exit_code == without.exit_code == code
            assert sandbox.run(egress.leading("yes | head -n 1"), timeout=20).text == "y\n", "SIGPIPE ends `yes`"
            assert sandbox.run(egress.leading("sleep 9"), timeout=0.5).timed_out


def test_the_way_out_costs_less_than_50_ms_a_step(backend: Backend, own_index: pytest.MonkeyPatch) -> None:
    """Of a core, since the machine may be loaded, and the quickest of ten."""
    with serving({}) as (port, _):
        own_index.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        with building(backend) as (egress, sandbox):
            bare = min(sandbox.run(["true"], timeout=20).cpu_seconds for _ in range(10))
            led = min(sandbox.run(egress.leading(["true"]), timeout=20).cpu_seconds for _ in range(10))
    assert led - bare < 0.050


def test_a_failed_build_names_the_hosts_it_asked_for(
    backend: Backend, cache: Path, tmp_path: Path, own_index: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "far", {"Makefile": "all:\n", "main.c": ""})
    with serving({}) as (port, _):
        own_index.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        said: list[str] = []
        with pytest.raises(BuildFailed) as caught:
            fetch = "curl -sSf https://files.example.org/data.bin"
            prepare(str(folder), backend=backend, cache=cache, setup=fetch, progress=said.append)
    hint = caught.value.hint
    assert "The build asked for files.example.org:443, where it may not go" in hint
    assert "--allow-host files.example.org:443" in hint
    assert f"the build may reach 127.0.0.1:{port}, and nothing else" in said
    log = Path(hint.rpartition("The whole log: ")[2]).read_text()
    assert "refused: this build may not reach files.example.org:443" in log and "egress.py" not in log


@pytest.mark.long
def test_allowed_hosts_are_recorded_and_part_of_the_key(
    backend: Backend, cache: Path, tmp_path: Path, own_index: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "asks", {"Makefile": "all:\n", "main.c": ""})
    with serving({"/": b"data"}) as (port, _):
        own_index.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port + 1}/simple")
        setup = f"curl -sS http://127.0.0.1:{port}/ > data"
        without = prepare(str(folder), backend=backend, cache=cache, setup=setup)
        hosts = [f"127.0.0.1:{port}"]
        allowed = prepare(str(folder), backend=backend, cache=cache, setup=setup, allow_hosts=hosts)
    assert (allowed.tree / "data").read_text() == "data" and "may not reach" in (without.tree / "data").read_text()
    assert allowed.recorded["allow_hosts"] == hosts and "allow_hosts" not in without.recorded
    write_original(allowed, tmp_path / "original", backend)
    with pytest.raises(SourceError, match=r"was built with access to 127\.0\.0\.1"):
        rebuild(tmp_path / "original", allowed.recorded, backend=backend, cache=cache)
    again = rebuild(tmp_path / "original", allowed.recorded, backend=backend, cache=cache, allow_hosts=hosts)
    assert again.tree_hash == allowed.tree_hash


def test_a_build_that_installs_nothing_opens_no_way_out(
    backend: Backend, cache: Path, tmp_path: Path, own_index: pytest.MonkeyPatch
) -> None:
    with serving({}) as (port, asked):
        own_index.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        said: list[str] = []
        folder = write(tmp_path / "plain", {"Makefile": "all:\n", "main.c": f"/* {backend.name} */"})
        prepare(str(folder), backend=backend, cache=cache, progress=said.append)
    assert asked == [] and not any("reach" in line for line in said)


def test_where_sandboxes_cannot_use_the_socket_it_is_said_and_nothing_is_reached(
    backend: Backend, own_index: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch, cache: Path, tmp_path: Path
) -> None:
    """As with an engine on another machine, or gVisor: here the socket is gone before the sandbox begins."""
    real = Egress.check

    def lose(egress: Egress, sandbox: Sandbox) -> None:
        egress.forwarder = (*egress.forwarder[:-1], "/build/none.sock")
        real(egress, sandbox)

    monkeypatch.setattr(Egress, "check", lose)
    with package_index() as (url, _, _):
        own_index.setenv("PIP_INDEX_URL", url)
        assert examine_egress(backend).startswith("the build reaches no package index: its sandbox cannot use a socket")
        said: list[str] = []
        folder = write(tmp_path / "lost", {"Makefile": "all:\n", "main.c": f"/* {backend.name} */"})
        with pytest.raises(BuildFailed, match="The build reached no package index: its sandbox cannot use a socket"):
            prepare(str(folder), backend=backend, cache=cache, setup="env | grep -i _proxy", progress=said.append)
    assert any(line.startswith("the build reaches no package index") for line in said)


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
