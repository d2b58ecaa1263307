"""Everything that reads text of a model or of a repository takes time in proportion to its length. One line a function.

`READERS` is the table; a room that has its own table imports `linear_time`. Every folder of the package stands in
`strangers_rooms.py`.
"""

import time
from pathlib import Path
from types import SimpleNamespace

import diff_readers
import pytest
import syntax_readers
from diff_readers import Reader, adding, of_diff, refusing, replacing
from linear_time import ENOUGH, FRAMES, grows
from table_rows import long_rows

from selfplay import plain_text
from selfplay.artifact import ArtifactError
from selfplay.artifact.files import parse_test_files
from selfplay.commands import source_list
from selfplay.export.names import repository_name
from selfplay.oracle.behaviour.inherited_tests import with_inherited
from selfplay.oracle.rewriting import instrument, javascript_tests
from selfplay.patches import dialects, parse
from selfplay.plain_text import encode
from selfplay.repository.building.interpreters import choose
from selfplay.repository.building.known_names import missing_modules, named_plugins
from selfplay.repository.detection.declared import repository_url
from selfplay.repository.detection.detect import detect
from selfplay.repository.detection.poetry import requirements
from selfplay.repository.fetching import local, source
from selfplay.repository.fetching.find_repository import locate
from selfplay.repository.fetching.history import leaves
from selfplay.repository.fetching.sdist_without_tests import may_hold_tests
from selfplay.repository.network import proxy_request
from selfplay.repository.suites import pytest_suite
from selfplay.repository.suites.discovery import unloadable
from selfplay.scripted.injector import trial
from selfplay.scripted.solver.calls import parameter_repairs
from selfplay.scripted.solver.transplants import method_repairs
from selfplay.validators.common import few
from selfplay.validators.hints import find_hint


def detecting(name: str, before: str = "", after: str = "") -> Reader:
    """`detect` on a tree whose file `name` holds the text."""

    def read(text: str) -> object:
        (FOLDER / name).write_text(f"{before}{text}{after}", encoding="utf-8", errors="surrogateescape")
        return detect(FOLDER)

    return read


def submodule(text: str) -> object:
    for folder in (git := FOLDER / ".git" / "modules" / "a", FOLDER / "a"):
        folder.mkdir(parents=True, exist_ok=True)
    (FOLDER / "a" / ".git").write_text("gitdir: ../.git/modules/a\n")
    (git / "config").write_bytes(encode(text))
    return locate(FOLDER / "a")


def failed(text: str) -> object:
    evidence = SimpleNamespace(failing=[SimpleNamespace(message=text)], functions=(), places=(), trees={})
    return [*parameter_repairs(evidence), *method_repairs(evidence)]  # type: ignore[arg-type]


FOLDER = Path()
requested: Reader = lambda text: proxy_request.parse(b"GET http://a/ HTTP/1.1\r\na:%b\r\n\r\n" % encode(text))  # noqa: E731
READERS: dict[str, Reader] = {
    **diff_readers.READERS,
    "validators.find_hint, added": of_diff(adding, lambda text: find_hint(parse(text))),
    "validators.find_hint, replaced": of_diff(replacing, lambda text: find_hint(parse(text))),
    "validators.few": lambda text: few(text.split()),
    "artifact.parse_test_files": refusing(parse_test_files, ArtifactError),
    "plain.safe_relative": plain_text.safe_relative,
    "plain.regular_file": lambda text: plain_text.regular_file(Path("/"), text),
    "plain.printable": plain_text.printable,
    "plain.shown": plain_text.shown,
    "plain.well_formed": plain_text.well_formed,
    "repository.parse_records": lambda text: pytest_suite.parse_records(encode(text)),
    "repository.finished": lambda text: pytest_suite.finished(encode(text)),
    "repository.parse_coverage": refusing(lambda text: pytest_suite.parse_coverage(encode(text)), ValueError),
    "repository.missing_modules": missing_modules,
    "repository.named_plugins": named_plugins,
    "repository.repository_url": lambda text: repository_url(f"https://github.com/{text}"),
    "repository.link that leaves": lambda text: leaves("a", {"a": text, "b": "a/b/a"}),
    "repository.choose interpreter": refusing(lambda text: choose(text, None, ())),
    "repository.parse_source": refusing(source.parse_source),
    "repository.detect, tests": detecting("test_a.py"),
    "repository.detect, setup.py": detecting("setup.py"),
    "repository.detect, setup.cfg": detecting("setup.cfg", "[metadata]\n"),
    "repository.detect, package_dir": detecting("setup.cfg", "[options]\npackage_dir =\n"),
    "repository.detect, tox.ini": detecting("tox.ini", "[testenv]\ndeps =\n"),
    "repository.detect, pyproject.toml": detecting("pyproject.toml"),
    "repository.detect, project table": detecting("pyproject.toml", '[project]\nname = "', '"\n'),
    "repository.detect, dependencies": detecting("pyproject.toml", "[project]\ndependencies = ['", "']\n"),
    "repository.detect, poetry": detecting("pyproject.toml", "[tool.poetry.dependencies]\na = '", "'\n"),
    "repository.detect, PKG-INFO": detecting("PKG-INFO"),
    "repository.unloadable": lambda text: unloadable(encode(text)),
    "repository.a submodule's config": refusing(submodule),
    "repository.requirements": lambda text: requirements({"a": text}),
    "repository.SHA256": lambda text: local.SHA256.search(encode(text)),
    "repository.may_hold_tests": lambda text: may_hold_tests([f"{text}.py"], "python"),
    "repository.proxy_request": refusing(requested, proxy_request.Refused),
    "commands.source_list": lambda text: [source_list._COMMENT.sub("", line) for line in text.splitlines()],
    "export.repository_name": lambda text: repository_name(SimpleNamespace(source=text)),  # type: ignore[arg-type]
    "oracle.with_inherited": lambda text: with_inherited("a.py", {"a.py": text}, ["a.py::A::test_a"]),
    "oracle.renamed": lambda text: instrument._renamed(text, "b"),
    "oracle.with_name": lambda text: javascript_tests._with_name(f"test('a{text}", "b"),
    "patches.read, ids": of_diff(lambda text: f"diff --git a/a b/a\nindex {text} 1\n", dialects.read),
    "scripted.lines of a log": lambda text: trial._lines(text, "a", "b"),
    "scripted.repairs": failed,
    **syntax_readers.READERS,
}  # fmt: skip

FAULTS: dict[str, tuple[str, str]] = {
    "40,000 blanks in a comment": ("validators.find_hint, added", "# a" + 40_000 * " " + "b"),
    "10,000 lines replaced": ("validators.find_hint, replaced", "".join(f"value_{n} = {n}\n" for n in range(10_000))),
    "7,000 ways to read the names": ("patches.parse, names", "a" + 7_000 * " b/"),
    "380 kB of signatures that do not end": ("repository.detect, tests", 32_000 * "def test_a("),
    "a link of 200,000 steps": ("repository.link that leaves", 200_000 * "a/"),
    "a key of 40,000 parts": ("repository.detect, pyproject.toml", "a" + 40_000 * ".a" + " = 1"),
    "150,000 blank lines in an option": ("repository.detect, package_dir", 150_000 * "\n" + " a"),
    "code nested 5,000 deep": ("repository.detect, setup.py", 5_000 * "not " + "a"),
    "a log of 400 kB of paths": ("repository.unloadable", 40_000 * "//testbed/"),
    "a config of 40,000 blank lines": ("repository.a submodule's config", 40_000 * "\n"),
    "40,000 blanks in a name of a config": ("repository.a submodule's config", "worktree = a" + 40_000 * " " + "b"),
    "60,000 blank lines before a format": ("repository.SHA256", 60_000 * "\n"),
    "a path of 30,000 folders of tests": ("repository.may_hold_tests", 30_000 * "tests/" + "\n"),
    "20,000 blanks in a header": ("repository.proxy_request", 20_000 * " " + "\n"),
    "60,000 blanks in a list": ("commands.source_list", "a" + 60_000 * " " + "b"),
    "a source of 60,000 signs": ("export.repository_name", 60_000 * "@" + "/a"),
    "a version of 30,000 stars": ("repository.requirements", "1" + 30_000 * ".x" + "a"),
    "300,000 blanks behind a quote": ("oracle.new_powers", "x = 1\n'" + 300_000 * " " + "\n"),
    "9,000 names, each of which is the one before": (
        "oracle.new_powers",
        "a0 = 1\n" + "".join(f"a{n + 1} = a{n}\n" for n in range(9_000)),
    ),
    "10,000 names that are 10,000 others": (
        "oracle.new_powers",
        "".join(f"a{n} = " for n in range(10_000)) + " + ".join(f"b{n}" for n in range(900)),
    ),
    "3,000 classes that inherit 3,000 tests": (
        "oracle.with_inherited",
        "class A:\n"
        + "".join(f" def test_{n}(self): pass\n" for n in range(3_000))
        + "".join(f"class A{n}(A): pass\n" for n in range(3_000)),
    ),
    "a name of 40,000 letters": ("oracle.renamed", 40_000 * "a"),
    "30,000 quotes in a name": ("oracle.with_name", 30_000 * "\\'" + 30_000 * '\\"'),
    "ids of 30,000 dots": ("patches.read, ids", 15_000 * ".."),
    "a line of 60,000 letters in a log": ("scripted.lines of a log", 60_000 * "a"),
    "a message of 60,000 letters": ("scripted.repairs", 60_000 * "a"),
    "a record nested 100,000 deep": ("repository.parse_records", "SELFPLAY {" + 100_000 * '"a":{'),
    **syntax_readers.FAULTS,
}
"""Texts on which each of these readers took seconds to minutes, or ended in an error that is no answer."""


@pytest.mark.parametrize("fault", FAULTS)
def test_texts_that_held_a_reader(fault, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "FOLDER", tmp_path)
    name, text = FAULTS[fault]
    start = time.thread_time()
    {**READERS, **syntax_readers.ONE_BY_ONE}[name](text)
    assert time.thread_time() - start < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("name", long_rows(READERS))
def test_time_grows_with_the_length_of_the_text(name, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "FOLDER", tmp_path)
    parses = name in syntax_readers.READERS
    assert grows(READERS[name], 0.15 if parses else ENOUGH, FRAMES[:1] if parses else FRAMES) == []
