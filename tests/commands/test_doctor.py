"""`selfplay doctor` as a script uses it."""

import json
import os
import subprocess
import sys

import pytest

from selfplay.sandbox.backend_check import Examined, advice


def doctor(*options: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "selfplay", "doctor", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **env})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_backend_that_isolates_exits_0_and_shows_every_promise(name: str) -> None:
    done = doctor("--sandbox", name, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    used = found["used"]
    assert (used["name"], used["works"], used["problem"]) == (name, True, "")
    assert {"CapEff: 0000000000000000", "Seccomp: 2", "interfaces: lo"} <= set(used["promises"])
    assert used["enforcement"]["disk"] and used["versions"]
    assert [other["name"] for other in found["others"]] == [{"bubblewrap": "docker", "docker": "bubblewrap"}[name]]
    assert found["machine"]["kernel"] == os.uname().release and found["machine"]["cores"] >= 1
    assert set(found["packages"]) >= {"torch", "ray", "vllm"} and found["packages"]["docker"]
    assert found["cache_free_bytes"] > 0
    assert found["builds"].startswith("the build may reach ") and found["builds"].endswith(", and nothing else")
    assert found["reading"].startswith("what reads a stranger's run or model ")


@pytest.mark.slow
def test_a_backend_that_does_not_exits_1_and_says_what_to_do() -> None:
    done = doctor("--sandbox", "docker", DOCKER_HOST="unix:///no/such.sock", COLUMNS="200")
    assert done.returncode == 1
    assert "docker: DOES NOT ISOLATE HERE (this one would be used)" in done.stdout
    assert "no Docker engine answers" in done.stdout and "bubblewrap: isolates" in done.stdout
    assert "What would help" in done.stdout and "set DOCKER_HOST" in done.stdout


def test_an_unknown_backend_exits_2() -> None:
    done = doctor("--sandbox", "podman")
    assert done.returncode == 2 and "Known: bubblewrap, docker" in done.stderr


def test_advice_names_limits_that_hold_for_less_than_a_sandbox() -> None:
    memory = "private memory of each process alone (RLIMIT_DATA)"
    enforcement = {"memory": memory, "cpus": "nothing", "disk": "tmpfs of that size"}
    (line,) = advice([Examined("bubblewrap", True, enforcement=enforcement)])
    assert "limits memory, cpus of a whole sandbox" in line and "systemd-run" in line
    (line,) = advice([Examined("docker", True, versions={"runtimes": "runc"})])
    assert "gVisor" in line
    assert advice([Examined("docker", True, versions={"runtimes": "runc, runsc"})]) == ()
