"""The names that the package defines, read from its source: modules, what they hold, and the attributes of classes.
Nothing is imported, so what needs torch or Ray is read, too."""

import ast
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "selfplay"
LIBRARIES = {*sys.stdlib_module_names, *packages_distributions()} - {"selfplay", "tests", "benchmarks"}
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Assignment = ast.Assign | ast.AnnAssign


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


@cache
def nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(tree(file)))


@cache
def modules() -> dict[str, Path]:
    """`update.batch.crediting` -> its file, for every module and package below `selfplay`."""
    linked = [path for path in PACKAGE.iterdir() if path.is_symlink()]
    files = [*PACKAGE.rglob("*.py"), *(file for folder in linked for file in folder.rglob("*.py"))]
    return {dotted(file): file for file in files}


def dotted(file: Path) -> str:
    """The name of a file's module below `selfplay`; of a package for its `__init__.py`."""
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def exists(name: str) -> bool:
    """Whether a dotted name below `selfplay` is a module, or something that a module holds."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        file = modules().get(".".join(parts[:end]))
        if file is not None:
            return end == len(parts) or held(file, parts[end:])
    return False


def held(file: Path, parts: list[str]) -> bool:
    """Whether a module holds a name, and that in turn the next one, as far as its source says."""
    if parts[0] not in contents(file):
        return False
    return len(parts) == 1 or any(has(each, parts[1:]) for each in contents(file)[parts[0]])


def has(found: ast.AST, parts: list[str]) -> bool:
    """Whether what a module holds has this attribute; True if its source does not say."""
    if isinstance(found, ast.ImportFrom):
        where = (found.module or "").removeprefix("selfplay").removeprefix(".")
        ours = (found.module or "").startswith("selfplay")
        return not ours or any(exists(".".join(filter(None, (where, name.name, *parts)))) for name in found.names)
    if isinstance(found, ast.ClassDef):
        return has_attribute(found, parts[0])
    if isinstance(found, ast.arg | ast.AnnAssign) and found.annotation is not None:
        named = {node.id for node in ast.walk(found.annotation) if isinstance(node, ast.Name)}
        ours_of = [classes()[name] for name in named if name in classes()]
        return any(has_attribute(kind, parts[0]) for kind in ours_of) if ours_of else True
    return not isinstance(found, Definition)


@cache
def contents(file: Path) -> dict[str, list[ast.AST]]:
    """What a module defines and imports at its top, also below an `if` or a `try`."""
    found: dict[str, list[ast.AST]] = {}
    below = [each for node in tree(file).body if isinstance(node, ast.If | ast.Try) for each in node.body]
    for node in [*tree(file).body, *below]:
        if isinstance(node, Definition):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for name in node.names:
                one = ast.ImportFrom(node.module, [name], node.level) if isinstance(node, ast.ImportFrom) else node
                found.setdefault((name.asname or name.name).split(".")[0], []).append(one)
        elif isinstance(node, Assignment):
            for each in _assigned(node):
                found.setdefault(each, []).append(node)
    return found


@cache
def variables(file: Path) -> dict[str, list[ast.AST]]:
    """The parameters of a module's functions, and what is assigned anywhere in it."""
    found: dict[str, list[ast.AST]] = {}
    for node in nodes(file):
        names = _assigned(node) if isinstance(node, Assignment) else {node.arg} if isinstance(node, ast.arg) else ()
        for name in names:
            found.setdefault(name, []).append(node)
    return found


@cache
def classes() -> dict[str, ast.ClassDef]:
    return {
        name: node
        for file in modules().values()
        for name, nodes in contents(file).items()
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }


def has_attribute(kind: ast.ClassDef, name: str) -> bool:
    """Whether a class or a base of ours has it; True if a base is not ours."""
    own = {node.name for node in ast.walk(kind) if isinstance(node, Definition)} - {kind.name}
    own |= {name for node in kind.body if isinstance(node, Assignment) for name in _assigned(node)}
    own |= {node.attr for node in ast.walk(kind) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    bases = [ast.unparse(base).split("[")[0].split(".")[-1] for base in kind.bases]
    known, plain = classes(), {"Protocol", "Exception", "Generic"}
    return name in own or any(
        has_attribute(known[base], name) if base in known else base not in plain for base in bases
    )


def _assigned(node: Assignment) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [each for target in targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return {ast.unparse(name) for name in names}
