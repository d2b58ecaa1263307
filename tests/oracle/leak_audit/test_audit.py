"""Planted copies of the answer are found, each kind of them, and clean worlds raise no alarm."""

import base64
import codecs
import gzip
import html
import io
import json
import marshal
import pickle
import py_compile
import quopri
import shutil
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import CodeType

import hand_made
import pytest

from selfplay import patches
from selfplay.artifact import Artifact
from selfplay.oracle import inside
from selfplay.oracle.leak_audit.audit import AuditState, audit, audit_task
from selfplay.oracle.leak_audit.needles import needles
from selfplay.oracle.world import Task, open_world
from selfplay.sandbox import Backend, World

SOURCE = "store/prices.py"


def _zip(data: bytes, name: str = "prices.py") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


def _tar(data: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        member = tarfile.TarInfo("store-1/prices.py")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def _each(data: bytes, form: str) -> bytes:
    """Each line in this form, with its number."""
    return "\n".join(form.format(*one) for one in enumerate(data.decode().split("\n"), 1)).encode()


def _lines(data: bytes) -> list[str]:
    return data.decode().split("\n")


PLANTED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a rejected hunk's original": ("store/prices.py.orig", lambda data: data),
    "a reject": ("store/prices.py.rej", lambda data: b"-" + data.replace(b"\n", b"\n-")),
    "an editor's backup": ("store/prices.py~", lambda data: data),
    "a swap file": ("store/.prices.py.swp", lambda data: b"b0VIM\0\0" + data),
    "a build folder": ("build/lib/prices_old.txt", lambda data: data),
    "a wheel": ("dist/store-1-py3-none-any.whl", _zip),
    "an egg": ("store.egg", _zip),
    "a source distribution": ("dist/store-1.tar.gz", _tar),
    "a zip in a zip": ("vendor.zip", lambda data: _zip(_zip(data), "inner.zip")),
    "a compressed file": ("prices.gz", gzip.compress),
    "documentation": ("docs/prices.md", lambda data: b"# Prices\n\n" + data),
    "a page with windows' line ends": ("docs/prices.txt", lambda data: data.replace(b"\n", b"\r\n")),
    "a notebook": ("notes.ipynb", lambda data: json.dumps({"source": data.decode()}).encode()),
    "a patch": ("fix.patch", lambda data: b"+" + data.replace(b"\n", b"\n+")),
    "a build folder of code": ("build/lib/store/prices.py", lambda data: data),
    "an older copy": ("store_old/prices.py", lambda data: data),
    "an archive that is not compressed": ("dist/store.tar", lambda data: gzip.decompress(_tar(data))),
    "a numbered listing": ("docs/listing.txt", lambda data: _each(data, "{0:5d}  {1}")),
    "what a search found": ("found.txt", lambda data: _each(data, "store/prices.py:{0}:{1}")),
    "comments": ("old.js", lambda data: _each(data, "// {1}")),
    "a list of lines": ("lines.json", lambda data: json.dumps(data.decode().split("\n")).encode()),
    "UTF-16": ("prices.txt", lambda data: data.decode().encode("utf-16")),
    "old line ends": ("prices.txt", lambda data: data.replace(b"\n", b"\r")),
    "base64 in a source map": ("store.map", lambda data: b'{"url": "data:;base64,' + base64.b64encode(data) + b'"}'),
    "hexadecimal": ("prices.hex", lambda data: data.hex().encode()),
    "a self-extracting archive": ("install.sh", lambda data: b"#!/bin/sh\nexit\n" + _zip(data)),
    "a page with colours": ("page.html", lambda data: _each(data, "<span class='k'>{1}</span>")),
    "a pickled list of lines": ("lines.pkl", lambda data: pickle.dumps(data.decode().split("\n"))),
    "a pickled list of stripped lines": ("lines.p1", lambda data: pickle.dumps([*map(str.strip, _lines(data))], 1)),
    "a pickle that is text": ("lines.p0", lambda data: pickle.dumps([*map(str.strip, _lines(data))], 0)),
    "a printed list of lines after tabs": (
        "tabs.out", lambda data: repr(["\t" + one.strip() for one in _lines(data)]).encode(),
    ),
    "a mail of long lines": ("long.eml", lambda data: quopri.encodestring(data.replace(b"    ", b" " * 60))),
    "a printed list of lines": ("lines.out", lambda data: repr(data.decode().split("\n")).encode()),
    "rot13": ("prices.rot", lambda data: codecs.encode(data.decode(), "rot13").encode()),
    "backwards": ("prices.rev", lambda data: data[::-1]),
    "a mail": ("prices.eml", lambda data: quopri.encodestring(data)),
    "a coverage page": ("cover/prices.html", lambda data: b"<pre>\n" + html.escape(data.decode()).encode()),
}  # fmt: skip


@pytest.fixture
def plant(backend: Backend, worlds: dict[str, World], tmp_path: Path) -> Callable[[str, bytes], Task]:
    """A task whose original also holds one more file."""

    def planted(path: str, data: bytes) -> Task:
        tree = tmp_path / "tree"
        shutil.copytree(hand_made.original("python"), tree, symlinks=True)
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(data)
        hand_made.give(tree, backend)
        return Task(World(tree=(tree,), env=worlds["python"].env), hand_made.artifact("python"))

    return planted


def answer() -> bytes:
    return (hand_made.original("python") / SOURCE).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_copy_is_found(backend: Backend, plant: Callable[[str, bytes], Task], kind: str) -> None:
    path, pack = PLANTED[kind]
    found = audit_task(backend, plant(path, pack(answer())))
    assert not found.clean and all(finding.where.startswith((path, ".git#")) for finding in found.findings), found
    assert all(0 < finding.share <= 1 for finding in found.findings)


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


@pytest.mark.parametrize("store", ["git init -q --bare", "mkdir -p objects && touch HEAD"], ids=["a store", "no store"])
def test_a_file_beside_git_objects_is_found(
    backend: Backend, plant: Callable[[str, bytes], Task], tmp_path: Path, store: str
) -> None:
    """Git lists its objects alone, and nothing of a folder it takes for no store."""
    task = plant("mirror/objects/prices.py", answer())
    subprocess.run(store, shell=True, cwd=tmp_path / "tree" / "mirror", check=True)
    hand_made.give(tmp_path / "tree", backend)
    assert any(found.where == "mirror/objects/prices.py" for found in audit_task(backend, task).findings)


def test_compiled_code_is_found_under_any_name(
    backend: Backend, plant: Callable[[str, bytes], Task], tmp_path: Path
) -> None:
    compiled = tmp_path / "x.pyc"
    py_compile.compile(str(hand_made.original("python") / SOURCE), str(compiled), doraise=True)
    found = audit_task(backend, plant("cache/prices.bin", compiled.read_bytes()))
    assert any(finding.where == "cache/prices.bin" for finding in found.findings), found


def test_a_bug_outside_of_functions_is_found_in_compiled_code(
    backend: Backend, plant: Callable[[str, bytes], Task], tmp_path: Path
) -> None:
    """One value of a table; the functions of the module are those of the broken one."""
    table = "".join(f"    'name{at}': {{'id': {at}, 'old': {at % 2 == 0}}},\n" for at in range(40))
    before = f"TABLE = {{\n{table}}}\n\n\ndef get(name):\n    return TABLE[name]\n"
    compiled = tmp_path / "x.pyc"
    (tmp_path / "x.py").write_text(before)
    py_compile.compile(str(tmp_path / "x.py"), str(compiled), doraise=True)
    task = plant("cache/table.bin", compiled.read_bytes())
    tree = tmp_path / "tree"
    (tree / "store" / "table.py").write_text(before)
    hand_made.give(tree, backend)
    after = before.replace("'id': 20, 'old': True", "'id': 20, 'old': False")
    bug = hand_made.diff(tree, hand_made.substitute("store/table.py", before, after))
    found = audit_task(backend, replace(task, artifact=replace(task.artifact, bug_inject=bug)))
    assert ("cache/table.bin", "compiled") in {(finding.where, finding.kind) for finding in found.findings}, found


@pytest.mark.slow
@pytest.mark.parametrize("version", [2, marshal.version])
@pytest.mark.parametrize("whole", [True, False], ids=["a module", "a function"])
def test_marshalled_code_is_found(
    backend: Backend, plant: Callable[[str, bytes], Task], whole: bool, version: int
) -> None:
    module = compile(answer(), "x", "exec")
    (function,) = (part for part in module.co_consts if isinstance(part, CodeType) and part.co_name == "total")
    found = audit_task(backend, plant("cache/prices.bin", marshal.dumps(module if whole else function, version)))
    assert ("cache/prices.bin", "compiled") in {(finding.where, finding.kind) for finding in found.findings}


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "leak",
    [
        "git hash-object -w --stdin",
        "git hash-object -w --stdin && git repack -adq",
        "cat > x && git add x && git stash -q || git -c user.name=a -c user.email=a@b stash -q",
        "cat > .git/hooks-old",
        "cat > ~/notes.txt",
        "cat > /tmp/prices.py",
    ],
)
def test_what_lies_in_git_or_outside_the_tree_is_found(backend: Backend, worlds: dict[str, World], leak: str) -> None:
    with open_world(backend, Task(worlds["python"], hand_made.artifact("python"))) as world:
        world.sandbox.run(leak, timeout=20, stdin=answer())
        assert not audit(world).clean


@pytest.mark.parametrize("language", hand_made.LANGUAGES)
def test_a_clean_world_is_clean(backend: Backend, worlds: dict[str, World], language: str) -> None:
    found = audit_task(backend, Task(worlds[language], hand_made.artifact(language)))
    assert found.clean, found
    assert found.lines > 0


@pytest.mark.parametrize(("pasted", "excused"), [(5, 0), (4, 4)])
def test_a_lone_function_pasted_elsewhere_excuses_nothing(tmp_path: Path, pasted: int, excused: int) -> None:
    """Five telling lines that stand together in another file of code are a copy; four are how this project writes."""
    lines = [f"    first_value_{number} = compute({number})\n" for number in range(5)]
    rest = "".join(f"another_line_{number} = {number}\n" for number in range(50))
    (tmp_path / "a.py").write_text("def a():\n" + "".join(lines) + "    return 1\n" + rest.replace("another", "third"))
    (tmp_path / "b.py").write_text(rest + "".join(lines[:pasted]) + "\n    done = True\n")
    removed = "".join(f"-{line}" for line in lines)
    diff = f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,7 +1,2 @@\n def a():\n{removed}     return 1\n"
    wanted = needles(Task(World(tree=(tmp_path,)), Artifact("s", "p", ("t.py",), diff, "")))
    assert (len(wanted.lines), len(wanted.common)) == (5, excused)


def test_a_lost_line_that_is_part_of_one_that_is_left_is_no_copy(tmp_path: Path) -> None:
    """Found on a real project: one lost line of three stood in another, longer one of the same file."""
    lost = ["first = compute(things)", "second = first.and_more", "third = combine(first, second)"]
    (tmp_path / "a.py").write_text("\n".join([*lost, f"if True and {lost[2]}:", "    last"]) + "\n")
    (tmp_path / "lines.out").write_text(repr(lost) + "x" * 200)  # a list of lines excuses nothing
    removed = "".join(f"-{line}\n" for line in lost)
    diff = f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,1 @@\n{removed} if True and {lost[2]}:\n"
    wanted = needles(Task(World(tree=(tmp_path,)), Artifact("s", "p", ("t.py",), diff, "")))
    assert (wanted.lines, wanted.partly) == (tuple(lost), (2,))


def test_the_compiled_cache_of_the_original_is_cleaned_away(
    backend: Backend, plant: Callable[[str, bytes], Task]
) -> None:
    task = plant("README", b"x\n")
    tree = task.world.tree[0]
    subprocess.run(["python3", "-m", "compileall", "-q", str(tree)], check=True, timeout=30)
    assert any(tree.rglob("*.pyc"))
    hand_made.give(tree, backend)
    assert audit_task(backend, task).clean
