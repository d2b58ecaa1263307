"""The workbench on real sandboxes: what a run sees, what it cannot touch, what is restored, and what it costs."""

from dataclasses import replace

import hand_made
import pytest
from hand_made import diff, original, substitute

from selfplay.patches import parse, reverse
from selfplay.workbench import RunCache

PYTHON = original("python")


def looking(artifact, script: str):
    """The artifact with a script that prints what it finds, one `PASS: line` each."""
    printing = 'while IFS= read -r line; do echo "PASS: $line"; done\n'
    return replace(artifact, test_script=f"{{ {script}; }} 2>&1 | {printing}")


@pytest.fixture
def seen(bench):
    """`seen(script, *diffs, **options)`: the lines a script prints in the Python repository."""

    def look(script, *diffs, restore=(), **options):
        artifact = replace(looking(hand_made.artifact("c"), script), **options)
        run = bench("python", artifact, shared=RunCache()).run(diffs, restore=restore)
        assert run.failed_at is None, run.error
        return set(run.outcomes)

    return look


def test_a_run_is_described(bench):
    artifact = hand_made.artifact("c")
    run = bench("c", artifact).run((artifact.bug_inject,))
    assert run.failed == {"ring: full", "ring: first in, first out", "ring: wraps around"}
    assert len(run.passed) == 6
    assert run.exit_code == 2  # make's, when a recipe fails
    assert 0 < run.seconds < 30 and 0 < run.cpu_seconds < 30
    assert "FAIL: ring: full" in run.log_tail
    assert not run.timed_out and not run.truncated


def test_only_standard_output_is_the_log(bench):
    script = "echo PASS: out; echo PASS: err >&2\n"
    run = bench("c", replace(hand_made.artifact("c"), test_script=script)).run()
    assert set(run.outcomes) == {"out"}
    assert "PASS: err" in run.log_tail


def test_script_sees_the_repository_and_no_history(seen):
    assert seen("pwd; ls -d .git store; git rev-parse 2>&1 | head -c 23; echo") == {
        "/testbed",
        "store",
        "ls: cannot access '.git': No such file or directory",
        "fatal: not a git reposi",
    }


def test_script_cannot_be_rewritten(seen):
    attack = "for f in test_script.sh other; do echo x >/oracle/$f || echo no; done; rm -f /oracle/*; chmod 777 /oracle"
    lines = seen(f"{{ {attack}; }} 2>/dev/null; ls /oracle; grep -c oracle /oracle/test_script.sh")
    assert lines == {"no", "test_script.sh", "1"}


def test_parser_shares_nothing_with_the_tests(bench):
    parser = """
import json, os, sys
sys.stdin.read()
paths = [p for p in ("/tmp/left", "/oracle", "/testbed/store") if os.path.exists(p)]
print(json.dumps({"saw " + " ".join(paths): "passed", "read " + " ".join(os.listdir()): "passed"}))
"""
    artifact = replace(hand_made.artifact("c"), test_script="touch /tmp/left", test_parser=parser)
    assert set(bench("python", artifact).run().outcomes) == {"saw ", "read test_parser.py"}


def test_runs_do_not_see_each_other(bench):
    artifact = looking(hand_made.artifact("c"), "ls /tmp store/new; touch /tmp/left store/new; echo done")
    place = bench("python", artifact, shared=RunCache())
    assert place.run().outcomes == place.run(repeat=1).outcomes
    assert place.meter.runs == 2


def test_diffs_apply_in_order_with_modes_renames_and_binary(seen):
    bug = hand_made.artifact("python").bug_inject
    look = "ls store; stat -c %a bin/report.sh; od -An -tx1 -j5 -N1 store/logo.bin"
    assert seen(look) == {"__init__.py", "codes.py", "labels.py", "logo.bin", "plugins", "prices.py", "shop.py"} | {
        "755",
        " 40",
    }
    assert seen(look, bug) == {"__init__.py", "regions.py", "logo.bin", "plugins", "prices.py", "shop.py"} | {
        "644",
        " 20",
    }
    assert seen(look, bug, reverse(bug)) == seen(look)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bug_inject", "bug_inject.diff does not apply: error"),
        ("test_weaken", "test_weaken.diff does not apply: error"),
    ],
)
def test_a_diff_that_does_not_apply_is_typed(name, says, bench):
    artifact = hand_made.artifact("c")
    text = getattr(artifact, name)
    place = bench("python", artifact)
    run = place.run((text,))
    assert run.failed_at == "apply"
    assert run.error.startswith(says)
    assert place.inspect(diffs=(text,)).refusal == run.error
    assert place.meter.runs == 0


def test_a_path_outside_the_tree_is_not_skipped(bench):
    """Inside a repository git would skip it silently and say all is well."""
    outside = "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n"
    assert "invalid path" in bench("python", hand_made.artifact("python")).inspect(diffs=(outside,)).refusal


def test_missing_files(bench):
    place = bench("python", hand_made.artifact("python"))
    paths = ["store/prices.py", "store", "no\nt", "gone.py", "store/café"]
    assert place.inspect(paths).missing == ("store", "no\nt", "gone.py", "store/café")


def test_restored_files_are_those_of_the_original(seen):
    """Deleted, changed, turned into a link, and behind a folder that became a link: all come back, nothing else."""

    def spoil(root):
        (root / "tests/test_prices.py").unlink()
        (root / "bin/report.sh").chmod(0o644)
        (root / "store/logo.bin").unlink()
        (root / "store/logo.bin").symlink_to("/etc/passwd")
        (root / "store/labels.py").write_text("changed\n")
        for entry in (root / "store/plugins").iterdir():
            entry.unlink()
        (root / "store/plugins").rmdir()
        (root / "store/plugins").symlink_to("/tmp")

    broken = diff(PYTHON, spoil)
    look = "find bin store tests -type f -printf '%p %m\\n' -o -type l -printf '%p link\\n'; cat store/labels.py"
    files = ["tests/test_prices.py", "bin/report.sh", "store/logo.bin", "store/plugins/tax.py"]
    with_changes = seen(look, broken, restore=files)
    assert {"tests/test_prices.py 644", "bin/report.sh 755", "store/logo.bin 644"} <= with_changes
    assert {"store/plugins/tax.py 644", "changed"} <= with_changes
    assert not [line for line in with_changes if line.endswith(" link")]
    assert "store/plugins/__init__.py 644" not in with_changes  # was not asked for


def test_an_added_file_that_is_restored_goes(seen):
    added = diff(PYTHON, lambda root: (root / "tests/new.py").write_text("x\n"))
    assert "new.py" in seen("ls tests", added)
    assert "new.py" not in seen("ls tests", added, restore=["tests/new.py"])


def test_unchanged_runs_are_shared_and_changed_ones_are_not(bench):
    valid, cache = hand_made.artifact("c"), RunCache()
    other = replace(valid, bug_inject=diff(original("c"), substitute("src/text.c", "words++", "words += 2")))
    first, second = bench("c", valid, shared=cache), bench("c", other, shared=cache)
    assert first.run() is second.run()
    assert first.run((valid.bug_inject,)) is first.run((valid.bug_inject,))
    assert (first.meter.runs, second.meter.runs) == (2, 0)
    third = bench("c", replace(valid, test_script=valid.test_script + "true\n"), shared=cache)
    third.run()
    assert third.meter.runs == 1


def test_leaving_tests_out_costs_nothing(bench):
    place = bench("c", hand_made.artifact("c"), shared=RunCache())
    whole = place.run()
    less = place.leaving_out(frozenset({"ring: full"}))
    assert less.run().passed == whole.passed - {"ring: full"}
    assert place.run().passed == whole.passed
    assert less.meter.runs == 1


def test_a_diff_of_nothing_is_the_original(bench):
    place = bench("c", hand_made.artifact("c"), shared=RunCache())
    assert parse("") == ()
    assert place.run(("",)) is place.run()
