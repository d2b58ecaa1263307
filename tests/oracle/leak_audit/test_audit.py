"""What the audit of a world says: clean, leaking, or not to be audited; and hostile files that do not stop it."""

import base64
import hashlib
import marshal
import time
from collections.abc import Callable
from pathlib import Path

import hand_made
import pytest
from oracle.leak_audit.planted import plant

from selfplay import patches
from selfplay.artifact import Artifact
from selfplay.oracle import inside
from selfplay.oracle.leak_audit.audit import AuditState, audit_task
from selfplay.oracle.task import Task
from selfplay.sandbox import Backend, World

__all__ = ["plant"]

REPEATED = "".join(f"def rule_{n}(x):\n    if x < 0:\n        return 0\n    return x\n\n\n" for n in range(9))


@pytest.fixture
def indistinct(backend: Backend, tmp_path: Path) -> Callable[..., Task]:
    """A task whose bug takes away no line that is only there: `x < 0` stands in nine functions, and in another file."""

    def make(change: Callable[[str], str] = lambda text: text.replace("< 0", "<= 0", 1), **planted: bytes) -> Task:
        tree = tmp_path / "tree"
        (tree / "pkg").mkdir(parents=True)
        (tree / "pkg/rules.py").write_text(REPEATED)
        (tree / "t.py").write_text("def test_a():\n    assert f(1)\n")
        (tree / "pkg/other.py").write_text(
            "".join(f"value_{n} = {n}\n" for n in range(60)) + "def f(x):\n    if x < 0:\n"
        )
        diff = hand_made.diff(tree, lambda root: (root / "pkg/rules.py").write_text(change(REPEATED)) and None)
        for path, data in planted.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(data or patches.reverse(diff).encode())
        hand_made.give(tree, backend)
        weaken = hand_made.diff(tree, hand_made.substitute("t.py", "assert f(1)\n", "pass\n"))
        return Task(World(tree=(tree,), env={"PATH": "/usr/bin:/bin"}), Artifact("s", ("t.py",), "", diff, weaken))

    return make


@pytest.mark.parametrize(("path", "data"), [("build/lib/pkg/rules.py", REPEATED.encode()), ("notes/fix.diff", b"")])
def test_a_bug_without_a_distinctive_line_is_searched_all_the_same(
    backend: Backend, indistinct: Callable[..., Task], path: str, data: bytes
) -> None:
    """A verbatim copy, and the gold diff itself."""
    found = audit_task(backend, indistinct(**{path: data}))
    assert found.lines == 0 and [finding.where for finding in found.findings] == [path]


def test_such_a_world_is_clean_without_a_copy(backend: Backend, indistinct: Callable[..., Task]) -> None:
    found = audit_task(backend, indistinct())
    assert (found.state, found.lines) == (AuditState.CLEAN, 0) and found.shingles > 0


@pytest.mark.parametrize("change", ["# first\n", "\n"], ids=["a comment", "an empty line"])
def test_a_bug_that_nothing_tells_of_is_not_auditable(
    backend: Backend, indistinct: Callable[..., Task], change: str
) -> None:
    found = audit_task(backend, indistinct(lambda text: change + text))
    assert (found.state, found.clean) == (AuditState.NOT_AUDITABLE, False) and "nothing that the bug" in found.reason
    assert found.to_json()["state"] == "not-auditable"


def searching_with(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """The search with another text in its program."""
    whole = inside.text
    monkeypatch.setattr(inside, "text", lambda name: whole(name).replace(old, new))


def test_a_search_that_does_not_end_is_not_clean(
    backend: Backend, plant: Callable[[str, bytes], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    searching_with(monkeypatch, "SECONDS = 240.0", "SECONDS = 0.0")
    found = audit_task(backend, plant("x.txt", b"x\n"))
    assert found.state is AuditState.NOT_AUDITABLE and "more than 0 seconds" in found.reason


def test_a_file_that_breaks_the_search_is_not_clean(
    backend: Backend, plant: Callable[[str, bytes], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of ours is no result; the other files are searched all the same."""
    searching_with(monkeypatch, "def textual(data):", "def textual(data):\n    assert data != b'x\\n'\n")
    found = audit_task(backend, plant("x.txt", b"x\n"))
    assert found.state is AuditState.NOT_AUDITABLE
    assert found.reason == "/testbed/x.txt could not be searched: AssertionError"


def test_what_cannot_be_read_is_named(backend: Backend, plant: Callable[[str, bytes], Task]) -> None:
    found = audit_task(backend, plant("data/x.7z", b"7z\xbc\xaf\x27\x1c" + bytes(100)))
    assert found.clean and found.unread == {"/testbed/data/x.7z": "7z cannot be read"}


HOSTILE = {
    "a number of thousands of digits": marshal.dumps(compile(f"def f():\n    return 0x{'f' * 5000}", "x", "exec")),
    "a tuple of two billions": b"\xe3" + bytes(20) + b"(" + (2**31 - 1).to_bytes(4, "little"),
    "digits and dots": b"1." * 100_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_what_would_stop_the_search_does_not(backend: Backend, plant: Callable[[str, bytes], Task], kind: str) -> None:
    started = time.monotonic()
    assert audit_task(backend, plant("data.bin", HOSTILE[kind])).clean
    assert time.monotonic() - started < 20  # a second or two; the dots took a hundred, the tuple the machine's memory


@pytest.mark.parametrize("language", hand_made.LANGUAGES)
def test_a_clean_world_is_clean(backend: Backend, worlds: dict[str, World], language: str) -> None:
    found = audit_task(backend, Task(worlds[language], hand_made.artifact(language)))
    assert found.clean, found
    assert found.lines > 0


@pytest.mark.parametrize("name", ["md5", "sha1", "sha256", "sha512", "git"])
@pytest.mark.parametrize("form", ["hex", "HEX", "base64", "url"])
def test_a_digest_of_the_original_is_a_leak(
    backend: Backend, indistinct: Callable[..., Task], name: str, form: str
) -> None:
    """Against it a solver could try every text that it thinks of. Package managers write it, and projects."""
    content = REPEATED.encode()
    made = hashlib.sha1(b"blob %d\0" % len(content) + content) if name == "git" else hashlib.new(name, content)
    plain, url = base64.b64encode(made.digest()).decode(), base64.urlsafe_b64encode(made.digest()).decode()
    forms = {"hex": made.hexdigest(), "HEX": made.hexdigest().upper(), "base64": plain, "url": url.rstrip("=")}
    found = audit_task(backend, indistinct(**{"files.lock": f"pkg/rules.py,{name}={forms[form]},743\n".encode()}))
    assert [(one.where, one.kind) for one in found.findings] == [("files.lock", "digest")]
    assert found.findings[0].sentence == "files.lock holds the digest of a file of the answer"


def test_digests_of_other_files_are_none(backend: Backend, indistinct: Callable[..., Task]) -> None:
    lines = "".join(f"{hashlib.sha256(str(number).encode()).hexdigest()}  file-{number}\n" for number in range(99))
    assert audit_task(backend, indistinct(**{"files.lock": lines.encode()})).state is AuditState.CLEAN
