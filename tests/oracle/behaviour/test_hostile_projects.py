"""A calibration reads what a repository's files hold, beside the sandbox: each of these took hours, or all memory.

Each kind is a project of its own with the same small bug, calibrated in a process of its own, whose time and memory are
looked at. What a kind adds is as long as its author likes; the time may grow with it, and no faster.
"""

import itertools
import json
import os
import random
import string
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from exploits.projects import MONEY, PROJECTS

SECONDS, MEGABYTES = 90, 700
"""Of a whole process, imports and sandboxes included; the plain project takes some 12 s of core time and 130 MB."""
Files = Mapping[str, str]


def in_the_function(line: str) -> Files:
    """The changed file with a line more in its changed function."""
    return {"ledger/money.py": MONEY.replace("    base, rest", f"    {line}\n    base, rest")}


def every_word() -> str:
    """A text with all words of four small letters (a de Bruijn sequence)."""
    letters, found = string.ascii_lowercase, list[str]()
    word = [0] * (len(letters) * 4)

    def extend(at: int, period: int) -> None:
        if at > 4:
            found.extend(letters[one] for one in word[1 : period + 1] if 4 % period == 0)
            return
        word[at] = word[at - period]
        extend(at + 1, period)
        for other in range(word[at - period] + 1, len(letters)):
            word[at] = other
            extend(at + 1, at)

    extend(1, 1)
    return "".join(found) + "aaa"


def recorded(calls: str) -> Files:
    """Tests that write the record of their calls themselves."""
    return {"tests/conftest.py": (
        "import atexit, json\n\n\ndef late():\n"
        f"    calls = [[{calls}, 'tests/test_money.py::test_shown']]\n"
        "    said = dict(python='/usr/bin/python3', paths=['/testbed'], modules={'ledger.money': 'selfplay_m0'},\n"
        "                calls=calls, beside=[], helpers={}, reached={}, stopped=[])\n"
        "    open('/tmp/selfplay-entered', 'w').write(json.dumps(said))\n\n\natexit.register(late)\n"
    )}  # fmt: skip


def options(names: str, after: str = "") -> Files:
    return {"ledger/other.py": f"def other({names}):\n    return 1\n{after}"}


KINDS: dict[str, Callable[[], Files]] = {
    "nothing": dict,
    "a pattern of empty turns": lambda: in_the_function('pattern = "(?:){4000000000}"'),
    "a pattern of turns in turns": lambda: in_the_function('pattern = "(?:(?:(?:){900}){900}){900}"'),
    "a pattern of sets": lambda: in_the_function(f'pattern = "{"[a-z0-9_]" * 190}"'),
    "20,000 options": lambda: options(",".join(f"a{n}=0" for n in range(20_000))),
    "20,000 options that are compared": lambda: options(
        ",".join(f"a{n}=0" for n in range(6_000)), "".join(f"    if a{n} == {n}: pass\n" for n in range(6_000))
    ),
    "a class of many bases of many options": lambda: {
        "ledger/other.py": "class A:\n    def __init__(self, "
        + ",".join(f"a{n}=0" for n in range(9_000))
        + f"): pass\n\n\nclass B({'A, ' * 9_000}): pass\n"
    },
    "an option that Python cannot write": lambda: options("a=" + "+".join(["''"] * 400)),
    "an annotation that Python cannot write": lambda: options("a: f'{chr(10)!r:\\n}' = 1"),
    "all words of four letters": lambda: {"tests/helper_words.py": f"# {every_word()}\n"},
    "8 MB of digits": lambda: {
        f"tests/helper_{n}.py": "# " + "".join(random.Random(n).choices(string.digits, k=1_000_000)) + "\n"
        for n in range(8)
    },
    "all numbers of six digits": lambda: {
        "tests/helper_numbers.py": "# " + " ".join(map(str, range(130_000))) + "\n"
    },
    "a long text, number and list in the function": lambda: in_the_function(
        f"known = ({'a' * 100_000!r}, {'9' * 3_900}, [{'0, ' * 20_000}])"
    ),
    "a call that is an f-string of many fields": lambda: recorded(
        "'f(' + repr('x') + ', f\"' + '{a}' * 400_000 + '\")'"
    ),
    "a recorded call that is no expression": lambda: recorded("'('"),
    "tests of many assertions": lambda: {
        "tests/test_many.py": "from ledger import money\n\n\ndef test_many():\n"
        + "".join(f"    assert money.share({n}, 1) == [{n}]\n" for n in itertools.islice(itertools.count(), 4_000))
    },
}  # fmt: skip
CALIBRATED = """
import json, re, sys, tempfile, time
from dataclasses import replace
from pathlib import Path
from exploits.projects import PROJECTS, Lab
from selfplay.oracle.errors import OracleError
from selfplay.sandbox import open_backend

files = json.load(sys.stdin)
project, backend = PROJECTS["python"], open_backend()
path, broken = project.broken
lost = "    base, rest = divmod(amount, parts)\\n"
if path in files:
    added = files[path].partition(lost)[0].rpartition("\\n    ")[2]
    broken = broken.replace(lost, f"    {added}{lost}")
with tempfile.TemporaryDirectory() as folder:
    made = replace(project, files={**project.files, **files}, broken=(path, broken))
    lab = Lab("python", backend, Path(folder), made)
    grade = lab.grade(lab.diff(lab.fix))
    said = Path("/proc/self/status").read_text()  # what the system counts for a process begins with its parent's memory
    most = int(re.search(r"VmHWM:\\s*(\\d+) kB", said)[1]) / 1024
    print(json.dumps([grade.resolved, grade.reason, time.process_time(), most]))
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_calibration_takes_bounded_time_and_memory(kind: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", CALIBRATED], input=json.dumps(KINDS[kind]()), capture_output=True, text=True,
        timeout=SECONDS * 3, env=env, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    resolved, reason, seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    assert resolved, reason
    assert seconds < SECONDS and megabytes < MEGABYTES, (seconds, megabytes)


def test_the_words_are_all_of_them() -> None:
    text = every_word()
    assert len({text[at : at + 4] for at in range(len(text) - 3)}) == 26**4
    assert "money" in PROJECTS["python"].broken[0]
