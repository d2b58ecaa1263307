"""What docstrings, comments and documents refer to exists: modules and what they hold, files, commands, targets."""

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer
from code_names import (
    LIBRARIES,
    PACKAGE,
    ROOT,
    classes,
    dotted,
    exists,
    has,
    has_attribute,
    modules,
    nodes,
    tree,
    variables,
)
from typer.core import TyperGroup

from selfplay import cli
from selfplay.loop.config import TrainConfig

pytestmark = pytest.mark.slow  # every module is loaded

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = sorted(modules().values())
PLACES = sorted({tuple(name.split(".")[:-1]) for name in modules()})
"""The packages, whose modules a document may name without them."""
ROOMS = {name.split(".")[0] for name in modules()}
TOPS = {"selfplay", "tests", "benchmarks", "docs", "configs", "prompts", "validators"}
PATHS = [path for top in TOPS for path in (ROOT / top).rglob("*") if "data" not in path.parts]
FOLDERS = {path.name for path in PATHS if path.is_dir()}
PARTS = [path.relative_to(ROOT).parts for path in PATHS]
FILES = {f"/{'/'.join(parts[at:])}" for parts in PARTS for at in range(len(parts))}
"""Every path of ours, and every end of one, as `/credit/rules.py`."""

STRANGERS = {
    "ray", "torch", "transformers", "vllm",  # not in every environment
    "assert", "core", "datasets", "generator", "reflect", "swesmith", "t", "trl",  # of other languages and tools
    "Env", "ExecutionResult", "GRPOTrainer", "LRUCache",  # classes of other projects
    "a", "figures", "m", "module", "owner__name", "owner__repo", "scope",  # no modules: data, or made up
}  # fmt: skip
"""First parts of dotted names that are not ours."""
PROJECTS = {"manage.py", "setup.py", "test.py", "test_parser.py", "test_repro.py"}
"""Files of the projects that bugs are planted in."""

SPAN = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+(\(\))?")
ENDINGS = "cfg diff html ini j2 json jsonl lock log md mod parquet pth py sh sha256 sqlite tbl toml txt xml yaml yml"
FILE = re.compile(rf".*\.({ENDINGS.replace(' ', '|')})")
PATTERN = re.compile(r"\b[A-Z]+\b|_[A-Z]+\b|\*")
COMMAND = re.compile(r"(?:^|[/;&|] ?)selfplay ([a-z][\w-]*)(?: ([a-z][\w-]*))?", re.MULTILINE)
PATH = re.compile(r"[\w.-]+(/[\w.-]+)*/?")


@cache
def texts(file: Path) -> str:
    """A document; of a module its docstrings and comments, without the marks that begin their lines."""
    if file.suffix == ".md":
        return file.read_text()
    values = [node.value for node in nodes(file) if isinstance(node, ast.Expr)]
    said = [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    return "\n".join([*said, *re.findall(r"#.*", file.read_text())])


def wrong(file: Path, text: str) -> list[str]:
    """The names and paths in backticks that lead nowhere."""
    return [span for span in SPAN.findall(text) if not (named(file, span) and placed(file, span))]


def named(file: Path, span: str) -> bool:
    """Whether a dotted name leads somewhere; True for what is none."""
    if not DOTTED.fullmatch(span) or FILE.fullmatch(span):
        return True
    first, *rest = parts = span.removesuffix("()").removeprefix("selfplay.").split(".")
    if first in LIBRARIES | STRANGERS or is_setting(parts):
        return True
    if first in classes():
        return not rest or has_attribute(classes()[first], rest[0])
    if file.suffix == ".md":
        return any(exists(".".join((*place, *parts))) for place in PLACES)
    above = tuple(dotted(file).split("."))
    near = [above[:end] for end in range(len(above), -1, -1) if ".".join((*above[:end], first)) in modules()]
    typed = [found for found in variables(file).get(first, ()) if isinstance(found, ast.arg) or not near]
    return any(exists(".".join((*place, *parts))) for place in near) or any(has(found, rest) for found in typed)


def placed(file: Path, span: str) -> bool:
    """Whether a path leads somewhere; True for what is none, and for what is a pattern."""
    path = span.removesuffix("/")
    first, *rest = path.split("/")
    if not PATH.fullmatch(span) or PATTERN.search(path) or not (rest or path.endswith(".py")):
        return True
    if rest and first not in ROOMS | TOPS and not (first in FOLDERS and path.endswith(".py")):
        return True
    if path in PROJECTS or any(f"/{path}{end}" in FILES for end in ("", ".py")):
        return True
    return bool(rest) and exists(path.removeprefix("selfplay/").replace("/", "."))


def is_setting(parts: list[str]) -> bool:
    """Whether it is a setting of a training run, as `recipe.lr`."""
    kind: type[Any] = TrainConfig
    for part in parts:
        hints = get_type_hints(kind)
        if part not in hints:
            return False
        kind = next((each for each in (hints[part], *get_args(hints[part])) if isinstance(each, type)), object)
    return True


def code_of(text: str) -> str:
    """What stands in backticks and in blocks of code, one a line; comments of the blocks are cut."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    spans = SPAN.findall(re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return "\n".join([*spans, *(re.sub(r"(^|\s)#.*", "", line) for block in blocks for line in block.splitlines())])


def unknown_commands(text: str) -> list[str]:
    """What is called a command of selfplay and is none, with the command below a group."""
    found, above = [], typer.main.get_command(cli.app)
    for first, second in COMMAND.findall(code_of(text)):
        command = above.commands.get(first)
        if command is None or (isinstance(command, TyperGroup) and second not in command.commands):
            found.append(f"{first} {second}".strip())
    return found


def unknown_targets(text: str) -> list[str]:
    made = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = re.findall(r"(?:^|[;&|] )make (?:-\S+ )*([a-z][\w-]*)", code_of(text), re.MULTILINE)
    return [name for name in called if name not in made]


def lost_paths(text: str) -> list[str]:
    """Paths of tests and benchmarks, modules after `python -m`, and links to files that are not there."""
    paths = re.findall(r"(?<![\w/.*-])((?:tests|benchmarks)/[\w./-]*\w)", text)
    paths += [f"{name.replace('.', '/')}.py" for name in re.findall(r"python -m (benchmarks\.[\w.]*\w)", text)]
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    lost = [path for path in paths if not (ROOT / path).exists()]
    return lost + [link for link in links if not any((ROOT / place / link).exists() for place in ("", "docs"))]


def listed(package: Path) -> set[str]:
    """The modules that a package's docstring lists, one a line, with what each is."""
    said = ast.get_docstring(tree(package / "__init__.py")) or ""
    return set(re.findall(r"^ *(\w+)/? {2,}\S", said, re.MULTILINE))


PACKAGES = [file.parent for file in SOURCES if file.name == "__init__.py" and listed(file.parent)]


@pytest.mark.slow
def test_every_name_and_path_in_backticks_leads_somewhere() -> None:
    found = {str(file.relative_to(ROOT)): wrong(file, texts(file)) for file in [*DOCUMENTS, *SOURCES]}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize("check", [unknown_commands, unknown_targets, lost_paths], ids=lambda check: check.__name__)
def test_commands_targets_and_paths_exist(check: Callable[[str], list[str]]) -> None:
    found = {file.name: check(texts(file)) for file in DOCUMENTS}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.relative_to(PACKAGE)))
def test_a_package_that_lists_its_modules_lists_all(package: Path) -> None:
    """Errors need no line."""
    there = {path.stem for path in package.iterdir() if path.suffix in ("", ".py") and not path.name.startswith("_")}
    assert listed(package) - {"errors"} == there - {"errors"}


def test_the_readme_names_every_folder_of_the_package() -> None:
    block = (ROOT / "README.md").read_text().partition("## What is where")[2].split("```")[1]
    named = set(re.findall(r"^([\w/]+)/ ", block, re.MULTILINE))
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists() and not path.is_symlink()}
    assert named == {f"selfplay/{room}" for room in rooms} | (TOPS - {"selfplay"})


@pytest.mark.parametrize(
    ("span", "right"),
    [
        ("update.batch.crediting", True), ("update.crediting", False), ("selfplay.rl.credit.rules.CreditRules", True),
        ("selfplay.rl.credit.rules.Rules", False), ("CreditRules.valid", True), ("CreditRules.value", False),
        ("objective.Objective.figures", True), ("objective.Objective.sums", False), ("recipe.lr", True),
        ("recipe.speed", False), ("rl/credit/rules.py", True), ("rl/credit/rule.py", False), ("rl/credit", True),
        ("report/html/diffs.clean", True), ("report/html/diffs.dirty", False), ("inside/egress.py", True),
        ("inside/ingress.py", False), ("policies/NAME.py", True), ("os.kill", True), ("curriculum.sqlite", True),
        ("tests/rl/credit/test_rules.py", True), ("tests/rl/test_rules.py", False), ("a/b", True),
    ],
)  # fmt: skip
def test_what_is_wrong_is_seen(span: str, right: bool) -> None:
    assert (wrong(PACKAGE / "update" / "step" / "one_update.py", f"`{span}`") == []) is right


def test_what_is_no_command_is_seen() -> None:
    block = "```\nmake setup # make x\n.venv/bin/selfplay sovle RUN\n```\n"
    text = f"`selfplay trian CONFIG`, `selfplay image bild`, `make tset`, make one, `selfplay image build`\n{block}"
    assert unknown_commands(text) == ["trian", "image bild", "sovle"] and unknown_targets(text) == ["tset"]
    assert lost_paths("tests/nothing.py, `python -m benchmarks.bench_bugs`, [this](cluster.md), [that](no.md)") == [
        "tests/nothing.py", "no.md",
    ]  # fmt: skip
