"""Runs the tests that decide, in a repository whose one commit is the broken tree, and prints one line per test.

The tests are put back as the oracle has them, whatever a patch did to them, and so is every file that steers a run
(conftest.py, pytest.ini, ...). The output of the tests is shown apart, each line marked, so that nothing a patch prints
looks like a result. Arguments: the packed bundle, a folder of its own, and `run`, `report` or `reward`, which prints 1
when every test that the bundle names as deciding passed, else 0.
"""

import base64
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

STEERING = (
    "conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini setup.cfg sitecustomize.py usercustomize.py"
    " *.pth pyvenv.cfg .gitattributes .mocharc* jest.config.* vitest.config.* vite.config.* babel.config.* .babelrc*"
    " .npmrc karma.conf.* .rspec phpunit.xml* CTestTestfile.cmake"
).split()
TAIL = 200


def git(*arguments, data=None):
    command = ["git", "-c", "core.quotepath=off", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def listed(*arguments):
    return [os.fsdecode(path) for path in git(*arguments).stdout.split(b"\0") if path]


def remove(path):
    if os.path.islink(path) or os.path.isfile(path):
        os.remove(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)


def clear(path):
    """Make place for a file: nothing at its path, no link and no file in place of a folder above it."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        above = "/".join(parts[:depth])
        if os.path.islink(above) or os.path.isfile(above):
            os.remove(above)
    remove(path)


def put_back(paths, tracked):
    """The files as the commit has them; those that it does not have are removed."""
    for path in paths:
        clear(path)
    kept = [path for path in paths if path in tracked]
    if kept:
        git("checkout", "-q", "-f", "HEAD", "--pathspec-from-file=-", "--pathspec-file-nul", data=packed(kept))


def packed(paths):
    return b"".join(b":(top,literal)" + os.fsencode(path) + b"\0" for path in paths)


def steers(path):
    name = path.rpartition("/")[2].lower()
    return any(fnmatch.fnmatchcase(name, pattern.lower()) for pattern in STEERING)


def restore(bundle):
    """The tests and what steers them, as the oracle has them. Returns why that failed."""
    tracked = set(listed("ls-tree", "-r", "-z", "--name-only", "HEAD"))
    changed = set(listed("diff", "--name-only", "-z", "HEAD")) | set(listed("ls-files", "-z", "--others"))
    put_back(sorted(path for path in changed if steers(path) and path not in bundle["own"]), tracked)
    put_back(bundle["test_files"], tracked)
    if not bundle["test_patch"]:
        return ""
    patch = bundle["test_patch"].encode("utf-8", "surrogateescape")
    done = git("apply", "--whitespace=nowarn", "-", data=patch)
    if done.returncode and not git("apply", "--reverse", "--check", "-", data=patch).returncode:
        return ""  # SWE-smith goes back to the commit in which the tests are still there
    return done.stdout.decode("utf-8", "replace") if done.returncode else ""


def shown(line):
    """A line of the tests, in which no grader finds a marker of its own: it stays one line for a reader that ends lines
    at other characters, too, and what a reader takes out of it (colours) is out before its words are looked at."""
    plain = "".join(c if c.isprintable() else " " for c in re.sub(r"\x1b\[[0-9;]*m|[\r\0]", "", line))
    return "| " + plain.replace(">>>", "> >").replace("summary", "s ummary")


def run(bundle, folder):
    failed = restore(bundle)
    if failed:
        print("\n".join(map(shown, ["the tests cannot be put back:", *failed.split("\n")])))
        return 1
    for name in ("test_script.sh", "test_parser.py"):
        with open(os.path.join(folder, name), "wb") as stream:
            stream.write(bundle[name].encode("utf-8", "surrogateescape"))
    with open(os.path.join(folder, "log"), "wb") as log:
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="0")
        status = subprocess.run(
            ["bash", os.path.join(folder, "test_script.sh")], stdin=subprocess.DEVNULL, stdout=log, env=environment
        ).returncode
    with open(os.path.join(folder, "log"), "rb") as log:
        lines = log.read().decode("utf-8", "replace").split("\n")
    for line in [line for line in lines if not line.startswith("SELFPLAY")][-TAIL:]:
        print(shown(line))
    print("| the test script ended with %d" % status)
    return 0


def outcomes_of(bundle, folder):
    """Name of a test -> whether it passed."""
    with open(os.path.join(folder, "log"), "rb") as log:
        parser = [sys.executable, "-I", os.path.join(folder, "test_parser.py")]
        done = subprocess.run(parser, stdin=log, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/")
    try:
        outcomes = json.loads(done.stdout.decode("utf-8", "replace"))
    except ValueError:
        return {}
    named = {bundle["names"].get(test, test): outcome == "passed" for test, outcome in outcomes.items()}
    flaky = set(bundle["flaky"])
    return {name: passed for name, passed in named.items() if name.isprintable() and name not in flaky}


def report(bundle, folder):
    """One line per test, of those alone that the bundle names as deciding; 1 when one failed or there is no result."""
    outcomes = outcomes_of(bundle, folder)
    if "wanted" in bundle:
        outcomes = {test: outcomes[test] for test in bundle["wanted"] if test in outcomes}
    for name, passed in sorted(outcomes.items()):
        print(("PASSED " if passed else "FAILED ") + name)
    return 0 if outcomes and all(outcomes.values()) else 1


def reward(bundle, folder):
    outcomes = outcomes_of(bundle, folder)
    print(int(all(outcomes.get(test) for test in bundle["wanted"])))
    return 0


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    with open(sys.argv[1], "rb") as packed_bundle:
        BUNDLE = json.loads(zlib.decompress(base64.b64decode(packed_bundle.read())).decode("utf-8"))
    sys.exit({"run": run, "report": report, "reward": reward}[sys.argv[3]](BUNDLE, sys.argv[2]))
