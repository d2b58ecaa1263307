"""For each check, artifacts that fail it for exactly its reason.

Every case is the valid C or Python artifact with one thing changed; the expected check and a part of its reason are
stated beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hand_made import diff, original, substitute

from selfplay.artifact import Artifact
from selfplay.validators import Thresholds

C, PYTHON = original("c"), original("python")
FULL_RING = "    if (ring->count == RING_SIZE) {\n        return 0;\n    }\n"


@dataclass(frozen=True)
class Case:
    """`change`: what differs from the valid artifact; `says`: a part of the reason; `naive`: the check the naive
    opinion names where it sees less, "" where it sees nothing (git skips garbage after a diff)."""

    check: str
    says: str
    change: Callable[[Artifact], Artifact]
    language: str = "c"
    thresholds: Thresholds = field(default_factory=Thresholds)
    naive: str | None = None


def having(**fields: object) -> Callable[[Artifact], Artifact]:
    return lambda artifact: replace(artifact, **fields)


def script(before: str = "", after: str = "") -> Callable[[Artifact], Artifact]:
    return lambda artifact: replace(artifact, test_script=before + artifact.test_script + after)


def parser(code: str) -> Callable[[Artifact], Artifact]:
    return having(test_parser=code + "\n")


def edited(field_name: str, tree: Path, edit: Callable[[Path], None]) -> Callable[[Artifact], Artifact]:
    return lambda artifact: replace(artifact, **{field_name: diff(tree, edit)})


def both(*changes: Callable[[Artifact], Artifact]) -> Callable[[Artifact], Artifact]:
    def change(artifact: Artifact) -> Artifact:
        for one in changes:
            artifact = one(artifact)
        return artifact

    return change


def ring(new: str) -> Callable[[Artifact], Artifact]:
    """A bug that puts `new` where the ring checks whether it is full."""
    return edited("bug_inject", C, substitute("src/ring.c", FULL_RING, new))


def weaken(old: str, new: str) -> Callable[[Artifact], Artifact]:
    return edited("test_weaken", C, substitute("tests/check_all.c", old, new))


def also(text: str) -> Callable[[Artifact], Artifact]:
    return lambda artifact: replace(artifact, bug_inject=artifact.bug_inject + text)


def link(root: Path) -> None:
    (root / "tests/check_all.c").unlink()
    (root / "tests/check_all.c").symlink_to("../src/ring.c")


def code_link(root: Path) -> None:
    (root / "src/ring.c").unlink()
    (root / "src/ring.c").symlink_to("text.c")


def most(root: Path) -> None:
    """The weakening of an injector that removes what it can: the failing test, and four that pass."""
    substitute("tests/check_all.c", ASSERTION, "")(root)
    substitute("tests/check_all.c", "    check_text();\n", "    (void)check_text;\n")(root)


WORDS_ONE = '    check("words: one", count_words("one") == 1);\n'
NOTES = "diff --git a/NOTES.md b/NOTES.md\nnew file mode 100644\n--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1 @@\n+notes\n"
ASSERTION = '    check("ring: full", !ring_push(&ring, 9));\n'
ONE_FUNCTION = """import json, sys
lines = [line.strip().partition(": ") for line in sys.stdin]
print(json.dumps({f"all[{name}]": {"PASS": "passed", "FAIL": "failed"}[result] for result, _, name in lines}))"""
JSON = "import json; print(json.dumps({}))"
OUTSIDE = "diff --git a/../x.c b/../x.c\nnew file mode 100644\n--- /dev/null\n+++ b/../x.c\n@@ -0,0 +1 @@\n+int x;\n"
# the id of the one failing test differs from run to run: hundredths of a second since boot
DICE = (
    "read up _ </proc/uptime; if ! grep -q RING_SIZE.*{ src/ring.c && grep -q 'all = 1' tests/check_all.c; "
    "then die=${up/./}; fi\n"
    'for i in $(seq 0 4999); do [ $i = $((die % 5000)) ] && [ -n "$die" ] && echo FAIL: $i || echo PASS: $i; done\n'
)

SETTINGS = (
    "diff --git a/package.json b/package.json\nnew file mode 100644\n--- /dev/null\n+++ b/package.json\n"
    "@@ -0,0 +1 @@\n+{}\n"
)
# four ids a run that no other run has
VARYING = 'read up _ </proc/uptime; for i in 1 2 3 4; do echo "PASS: $up $i"; done\n'

CASES = {
    "listed file absent": Case("test_files", "does not have", having(test_files=("tests/check_all.c", "tests/no.c"))),
    "listed folder": Case("test_files", "'tests', which", having(test_files=("tests/check_all.c", "tests"))),
    "weakening not covered": Case("test_files", "does not list", having(test_files=("Makefile",))),
    "weakening touches code": Case(
        "test_files",
        "is not a test file",
        both(
            having(test_files=("tests/check_all.c", "src/text.c")),
            edited("test_weaken", C, substitute("src/text.c", "words++", "words += 2")),
        ),
    ),
    "weakening malformed": Case("test_files", "test_weaken.diff: line 1", having(test_weaken="not a diff\n")),
    "weakening cut off": Case(
        "test_files", "does not end with a line end", lambda a: replace(a, test_weaken=a.test_weaken[:-9])
    ),
    "weakening does not fit": Case(
        "test_files", "does not apply", lambda a: replace(a, test_weaken=a.test_weaken.replace("fills", "spills"))
    ),
    "weakening makes a link": Case("test_files", "symbolic link", edited("test_weaken", C, link)),
    "parser prints garbage": Case("parser", "no JSON", parser("print('all good')")),
    "parser prints bytes": Case("parser", "no JSON", parser(r"import sys; sys.stdout.buffer.write(b'\xff\xfe{}')")),
    "parser prints too deep": Case("parser", "no JSON", parser("print('[' * 200_000)")),
    "parser exits with 3": Case(
        "parser", "exit code 3: why", parser("import sys; sys.stderr.write('why'); sys.exit(3)")
    ),
    "parser is no python": Case("parser", "exit code 1: SyntaxError", parser("def")),
    "parser hangs": Case("parser", "did not end within", parser("while True: pass")),
    "parser waits": Case("parser", "did not get a core within", parser("import time; time.sleep(1000)")),
    "parser floods": Case("parser", "printed more than", parser("print('x' * 10_000_000)")),
    "parser kills all": Case("parser", "test_parser.py", parser("import os; os.kill(-1, 9); os.kill(1, 9); 1/0")),
    "parser finds nothing": Case("parser", "found no test", parser(JSON)),
    "parser prints a list": Case("parser", "JSON list", parser("print('[1]')")),
    "parser invents outcomes": Case("parser", "'skipped' of 'a'", parser("""print('{"a": "skipped"}')""")),
    "parser counts": Case("parser", "1 of 'a'", parser("""print('{"a": 1}')""")),
    "parser repeats an id": Case(
        "parser", "occurs twice", parser("""print('{"a": "failed", "a": "passed"}')"""), naive="test_script"
    ),
    "parser names surrogates": Case(
        "parser", "is not text", parser(r"""print('{"\\udce9": "passed"}')"""), naive="test_script"
    ),
    "no test passes": Case("parser", "found no test", having(test_script="true\n")),
    "a test fails on the original": Case(
        "test_script", "1 test of the original fails: 'x'", script(after="echo FAIL: x")
    ),
    "too few tests": Case("test_script", "only 9 tests", script(), thresholds=Thresholds(min_passing_tests=10)),
    "script too slow": Case("test_script", "within 1 s", script(after="sleep 600"), thresholds=Thresholds(seconds=1)),
    "script says nothing in time": Case(
        "test_script", "within 1 s", script(before="sleep 600\n"), thresholds=Thresholds(seconds=1)
    ),
    "script floods": Case("test_script", "floods", script(after="head -c 50M /dev/zero")),
    "bug in a test file": Case("scope", "test file 'tests/check_all.c'", edited("bug_inject", C, substitute(
        "tests/check_all.c", "== 2", "== 3"))),
    "code is listed as a test": Case("test_files", "is not a test file: grading would reset", having(
        test_files=("tests/check_all.c", "src/ring.c")), naive="scope"),
    "bug in the project's settings": Case(
        "scope", "'package.json', which is not code", also(SETTINGS), naive="inverse_mutation"),
    "most tests vary": Case("determinism", "vary from run to run; with more than 10", script(before=VARYING), naive=""),
    "too few files": Case("scope", "changes 1 file;", script(), thresholds=Thresholds(min_changed_files=2)),
    "bug is a link": Case("scope", "symbolic link", edited("bug_inject", C, code_link)),
    "original commented out": Case("scope", "comments out", ring("    // if (ring->count == RING_SIZE) {\n")),
    "bug announced": Case("scope", "says what it is", ring("    /* injected bug: no check */\n")),
    "bug malformed": Case("scope", "bug_inject.diff: line", also("garbage\n"), naive=""),
    "bug leaves the tree": Case("scope", "'../x.c'", also(OUTSIDE)),
    "bug does not fit": Case("bug", "does not apply", lambda a: replace(
        a, bug_inject=a.bug_inject.replace("ring->items", "ring->things")), naive="scope"),
    "no effect": Case("bug", "makes no test fail", ring(FULL_RING.replace("== RING_SIZE", ">= RING_SIZE"))),
    "too few failing": Case("bug", "at least 4", script(), thresholds=Thresholds(min_failing_tests=4)),
    "bug does not compile": Case("bug", "found no test", ring("    syntax error\n")),
    "bug breaks all": Case(
        "bug",
        "no test that passed",
        both(
            having(test_script="python3 -m unittest -v tests.test_prices 2>&1\n"),
            edited("bug_inject", PYTHON, substitute("store/prices.py", "def ", "def not_")),
        ),
        "python",
        Thresholds(min_passing_tests=4),
    ),
    "bug hangs": Case("bug", "does not end under the bug", ring("    while (ring->count == RING_SIZE) {\n    }\n"),
                      thresholds=Thresholds(seconds=6)),
    "hides nothing": Case("weakening", "hides no failing test (of 3)", weaken(WORDS_ONE, "")),
    "weakening does not compile": Case("weakening", "found no test", weaken("static int failures;\n", "")),
    "weakening breaks a test": Case("weakening", "breaks 1 test: 'words: one'", weaken('"one") == 1', '"one") == 7')),
    "weakening removes other tests": Case(
        "weakening", "removes 4 tests that the bug does not break: 'words: na", edited("test_weaken", C, most)),
    "weakening removes most cases": Case(
        "weakening", "removes 4 of 6 tests that the bug does not break, other cases of failing tests; at most 25%",
        both(edited("test_weaken", C, most), parser(ONE_FUNCTION)), naive=""),
    "too many files": Case("scope", "changes 2 files; at most 1",
        edited("bug_inject", C, lambda root: (
            substitute("src/ring.c", FULL_RING, "")(root), substitute("src/text.c", "words++", "words += 2")(root))),
        thresholds=Thresholds(max_changed_files=1), naive=""),
    "assertion commented out": Case("weakening", "comments out", weaken(ASSERTION, "// " + ASSERTION.strip() + "\n")),
    "one file does not matter": Case("inverse_mutation", "restoring 'src/text.h' alone",
        edited("bug_inject", C, lambda root: (
            substitute("src/ring.c", FULL_RING, "")(root),
            substitute("src/text.h", "#endif", "int count_lines(const char *text);\n\n#endif")(root),
        ))),
    "a document changed too": Case("inverse_mutation", "restoring 'NOTES.md' alone", also(NOTES)),
    "only random tests fail": Case("determinism", "bug fails: the bug makes no test fail", both(
        ring(FULL_RING.replace(") {", ")\n    {")), script(after=DICE), weaken("all = 1", "all = !0"))),
}  # fmt: skip
