"""What a build's sandbox reaches: the indexes as the user has them set up, and the hosts that the user allows."""

from pathlib import Path

import pytest
from package_index import own_authority, package_index, proxy_with_password, serving
from repository.ways_out import backend, building, own_index

from selfplay.repository.network.egress import Egress
from selfplay.sandbox import Backend, Completed, Sandbox

__all__ = ["backend", "own_index"]

CA = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def install(egress: Egress, sandbox: Sandbox) -> Completed:
    command = 'cd /tmp && /build/uv pip install --python "$PYTHON" --target /tmp/got parcel && cat /tmp/got/parcel.py'
    return sandbox.run(egress.leading(command), timeout=60, cwd="/", merge_stderr=True)


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
