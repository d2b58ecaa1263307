"""Readers of JavaScript, Go and Python text for `test_linear_time`: the rooms that parse a repository's sources, and
what is made of their trees."""

from collections.abc import Callable

from selfplay.believable import BelievableRules, faults
from selfplay.importers.r2e_runs import decided, summary
from selfplay.importers.rows import DatasetRow, ImportRefused
from selfplay.importers.tasks import task_of
from selfplay.oracle.new_code.loaded_files import loadable
from selfplay.oracle.new_code.suspicious_apis import new_data, new_powers
from selfplay.report.html.diffs import clean_text, diff_value
from selfplay.report.html.highlight import runs
from selfplay.scripted.tree_sitter.cases import cases
from selfplay.scripted.tree_sitter.edits import program
from selfplay.scripted.tree_sitter.loosen import assertions
from selfplay.scripted.tree_sitter.weaken import SuiteFailure, weaken
from selfplay.syntax import imports
from selfplay.syntax.names import names
from selfplay.syntax.shapes import shapes
from selfplay.syntax.source import Unreadable, parse

Reader = Callable[[str], object]
FRAMES = {
    "javascript": ("function f(a) {\n", "\n}\n"),
    "typescript": ("function f(a: number) {\n", "\n}\n"),
    "go": ("package a\n\nfunc TestF(a int) {\n", "\n}\n"),
}
SUFFIXES = {"javascript": "js", "typescript": "ts", "go": "go", "python": "py"}


def uncached(read: Callable[[str, str], object], language: str, framed: bool = False) -> Reader:
    """`read` without its cache, for which a refused text is an answer; framed: with the text inside a function."""
    before, after = FRAMES[language] if framed else ("", "")
    inner = getattr(read, "__wrapped__", read)

    def answer(text: str) -> object:
        try:
            return inner(language, f"{before}{text}{after}")
        except Unreadable as refusal:
            return refusal

    return answer


def upwards(language: str, text: str) -> object:
    source = parse(language, text)
    return [*source.functions(), *cases(source), *assertions(source, source.root)]


def weakened(language: str, text: str) -> object:
    path = f"a_test.{SUFFIXES[language]}"
    failing = SuiteFailure(path, "TestF", frozenset([3]))
    return weaken(path, text, {failing: "assertions"})


def believed(language: str) -> Reader:
    """The faults of a change at the end of a file that holds the text."""
    path = f"a.{SUFFIXES[language]}"
    return lambda text: faults(BelievableRules(), {path: text}, {path: f"{text}\n"})


def imported(text: str) -> object:
    columns = {"instance_id": "a", "base_commit": "a" * 40, "FAIL_TO_PASS": [f"a.py::{text}"], "patch": text}
    try:
        return task_of(DatasetRow("a", columns, "", None, ""), "swebench")  # type: ignore[arg-type]
    except ImportRefused as refusal:
        return refusal


def newly_used(text: str) -> object:
    files = {"a.py": text}
    return new_powers({}, files, {}), new_data({}, files, {}), loadable(files)


def logged(text: str) -> object:
    try:
        return summary(f"=== short test summary info ===\nPASSED a\n{text}", "before")
    except ImportRefused as refusal:
        return refusal


def both_logs(text: str) -> object:
    log = "".join(f"PASSED a::{number}{line}\n" for number, line in enumerate(text.split("\n")))
    run = summary(f"=== short test summary info ===\n{log}", "before")
    return decided(run, run, {text: "PASSED"}, ["a.py"])


def all_of_a_tree(language: str, text: str) -> None:
    """Whatever is made of one parsed text: names, shapes, edits, cases, assertions."""
    parse.cache_clear()
    for read in (names, shapes):
        read.__wrapped__(language, text)
    program(language, text)
    imports.imported(parse(language, text))
    upwards(language, text)
    weakened(language, text)


ONE_BY_ONE: dict[str, Reader] = {
    **{f"syntax.{read.__name__}, {language}{', framed' * framed}": uncached(read, language, framed)
       for language in FRAMES for read in (parse, names, shapes) for framed in (False, True)},
    **{f"tree_sitter.{read.__name__}, {language}": uncached(read, language, True)
       for language in FRAMES for read in (program, upwards, weakened)},
}  # fmt: skip
"""Those that the texts of `FAULTS` held."""
READERS: dict[str, Reader] = {
    **{f"syntax and tree_sitter, {language}": uncached(all_of_a_tree, language, True) for language in FRAMES},
    **{f"believable.faults, {language}": believed(language) for language in SUFFIXES},
    "oracle.new_powers": newly_used,
    "importers.task_of": imported,
    "importers.summary": logged,
    "importers.decided": both_logs,
    "report.diff_value": diff_value,
    "report.clean_text": lambda text: clean_text(text, len(text)),
    "report.runs": lambda text: runs("a.js", text.split("\n")),
}  # fmt: skip
"""Those whose growth is measured: all that a tree is read for at once, since parsing it costs most."""

FAULTS: dict[str, tuple[str, str]] = {
    "20,000 comments that do not end, in Go": ("syntax.parse, go", 20_000 * "/* \n"),
    "20,000 comments that do not end": ("syntax.parse, javascript", 20_000 * "/* \n"),
    "a chain of 20,000 lines": ("syntax.names, javascript", 20_000 * "a.b.\n" + "a"),
    "a chain of 90 lines of 90": ("syntax.names, javascript", 90 * ("a" + 90 * ".b" + ";\n")),
    "80,000 backticks": ("syntax.names, javascript", 80_000 * "`"),
    "a hundred functions around 8,000 lines": (
        "syntax.shapes, javascript", 100 * "function f() {\n" + 8_000 * "if (a) {}\n" + 100 * "}\n"),
    "a name that is bound and read 10,000 times": ("syntax.names, javascript", 10_000 * "var a;" + 10_000 * "a;"),
    "20,000 names of one declaration": ("syntax.names, go", f"package a\n\nvar {20_000 * 'a, '}b int\n"),
    "10,000 decorators": ("syntax.names, javascript", 10_000 * "@a " + "class b {}"),
    "a long name around 5,000 functions": (
        "syntax.names, javascript",
        f"a = {{ '{50_000 * 'b'}': function () {{ {5_000 * '(() => { let c; })();'} }} }};"),
    "40,000 parts of a title": ("tree_sitter.upwards, javascript", f"it(`{40_000 * '${a}'}`, () => {{ b(); }});"),
    "5,000 assertions on one line": (
        "tree_sitter.weakened, javascript", f"it('TestF', () => {{\n{5_000 * 'expect(a).toBe(1);'}\n}});"),
    "3,000 assertions of one test": (
        "tree_sitter.weakened, javascript",
        "it('TestF', () => {\nb();\n" + 3_000 * "  expect(a).toBe(1);\n" + "});"),
    "a condition 900 deep": ("syntax.shapes, javascript", 900 * "if (a) { return 1 } else " + "{ return 2 }"),
}  # fmt: skip
"""Texts on which each of these readers took seconds to minutes, or ended in an error that is no answer."""
