"""A patch in newer syntax than the project's oldest Python reads: tests on a new one do not see it."""

import pytest
from oracle.new_code.test_loaded_files import Tree

from selfplay.oracle.new_code.least_python import needs_newer

OLD, WALRUS, MATCH = "x = 1\n", "if (y := 1): pass\n", "match 1:\n    case 1: pass\n"
SAID = ["a.py needs a newer Python than 3.7, which the project declares"]


@pytest.mark.parametrize(
    ("name", "text", "new", "said"),
    [
        ("pyproject.toml", '[project]\nrequires-python = ">=3.7"\n', WALRUS, SAID),
        ("setup.cfg", "[options]\npython_requires = >= 3.7\n", WALRUS, SAID),
        ("setup.py", "setup(python_requires='>=3.7,<4', name='a')\n", MATCH, SAID),
        ("setup.py", 'setup(**{"python_requires": ">=2.7"})\n', WALRUS, []),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.8"\n', WALRUS, []),
        ("pyproject.toml", "[project]\n", WALRUS, []),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.7"\n', "x = (\n", []),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.7"\n', "y = 2\n", []),
    ],
)
def test_newer_syntax_than_the_project_declares_is_named(name: str, text: str, new: str, said: list[str]) -> None:
    assert list(needs_newer({"a.py": OLD}, {"a.py": new}, Tree({name: text}))) == said


def test_a_file_that_needed_it_before_says_nothing() -> None:
    tree = Tree({"pyproject.toml": 'requires-python = ">=3.7"\n'})
    assert list(needs_newer({"a.py": WALRUS}, {"a.py": WALRUS + OLD}, tree)) == []
