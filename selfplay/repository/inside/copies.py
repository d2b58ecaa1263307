"""Prints, as JSON, what among the installed packages looks like another copy of the project: its places and, if asked
for, the runs of tokens in its code. The last part of a program, after `token_runs.py`.

The arguments: `runs` or `places`, the tree, and where packages lie. A Python package counts if a folder of its name
holds at least half of its files' names and some of their lines, a single module if a file of its name holds at least
half of its lines; a package of npm and a module of Go, of any major version, count by their names. Links are not
followed: a link to the tree is no copy.
"""

import json
import os
import sys

MOST_BYTES = 1 << 20
SOURCES = ("", "src", "lib", "python")
MOST_FOUND, MOST_RUNS, MOST_MODULES = 20, 300_000, 50
SHORT, SOME = 8, 0.1
"""Characters of a line that tells nothing; the share of lines that a package and an older one have in common."""
CODE = (".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".go")


def python_files(folder):
    try:
        with os.scandir(folder) as entries:
            return {one.name for one in entries if one.name.endswith(".py") and one.is_file(follow_symlinks=False)}
    except OSError:
        return set()


def content(path):
    try:
        if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > MOST_BYTES:
            return b""
        with open(path, "rb") as stream:
            return stream.read(MOST_BYTES)
    except OSError:
        return b""


def lines(path):
    return {line.strip() for line in content(path).splitlines() if len(line.strip()) > SHORT}


def projects(tree):
    """(packages: name -> its folder, modules: file's name -> its lines) at the top of a tree."""
    packages, modules = {}, {}
    for source in SOURCES:
        top = os.path.join(tree, source)
        for name in sorted(python_files(top))[:MOST_MODULES]:
            modules[name] = lines(os.path.join(top, name))
        for name in os.listdir(top) if os.path.isdir(top) else ():
            names = python_files(os.path.join(top, name))
            if "__init__.py" in names and len(names) > 1:
                packages[name] = os.path.join(top, name)
            elif "__init__.py" in names:
                modules[name + "/__init__.py"] = lines(os.path.join(top, name, "__init__.py"))
    return packages, {name: held for name, held in modules.items() if len(held) > 9}


def npm_name(tree):
    try:
        name = json.loads(content(os.path.join(tree, "package.json"))).get("name")
    except (ValueError, AttributeError, RecursionError):
        return None
    return name if isinstance(name, str) and name else None


def go_name(tree):
    """The module path of a Go project, without its major version."""
    for line in content(os.path.join(tree, "go.mod")).splitlines():
        words = line.split()
        if words[:1] == [b"module"] and len(words) > 1:
            return without_major(os.fsdecode(words[1].strip(b'"')))
    return None


def without_major(path):
    first, _, last = path.rpartition("/")
    return first if last[:1] == "v" and last[1:].isdigit() else path


def module_at(folder):
    """The module path that a folder of a module cache has: capitals are written as `!` and the letter."""
    first, *others = folder.rpartition("@")[0].split("!")
    return without_major(first + "".join(one[:1].upper() + one[1:] for one in others))


def alike(package, other):
    """Whether another folder of a package's name holds a version of it."""
    names = python_files(package)
    both = names & python_files(other)
    if 2 * len(both) < len(names):
        return False
    pairs = [(lines(os.path.join(package, name)), lines(os.path.join(other, name))) for name in both]
    return sum(len(one & two) for one, two in pairs) > SOME * sum(len(one) for one, _ in pairs)


def copies(tree, places):
    packages, modules = projects(tree)
    name, module_path, found = npm_name(tree), go_name(tree), []
    for place in places:
        for here, folders, names in os.walk(place):
            folders[:] = [one for one in folders if not os.path.islink(os.path.join(here, one))]
            for folder in [one for one in folders if one in packages]:
                if alike(packages[folder], os.path.join(here, folder)):
                    found.append(os.path.join(here, folder))
                    folders.remove(folder)
            within = [one + "/__init__.py" for one in folders if one + "/__init__.py" in modules]
            for module in [one for one in [*names, *within] if one in modules]:
                if 2 * len(lines(os.path.join(here, module)) & modules[module]) >= len(modules[module]):
                    found.append(os.path.join(here, module))
            if name and here.endswith("/node_modules/" + name) and "package.json" in names:
                found.append(here)
                folders[:] = []
            if module_path and "@" in os.path.basename(here) and module_at(os.path.relpath(here, place)) == module_path:
                found.append(here)
                folders[:] = []
            if len(found) >= MOST_FOUND:
                return found[:MOST_FOUND]
    return found


def told(places):
    """The numbers of the runs of tokens in the copies."""
    found = set()
    for place in places:
        for here, _, names in os.walk(place) if os.path.isdir(place) else [(os.path.dirname(place), (), [place])]:
            for name in names:
                if name.endswith(CODE) and len(found) < MOST_RUNS:
                    found.update(token_runs(content(os.path.join(here, name))))
    return sorted(found)[:MOST_RUNS]


found = copies(sys.argv[2], sys.argv[3:])
shown = [os.fsencode(place).decode("utf-8", "backslashreplace") for place in found]
print(json.dumps({"places": shown, "runs": told(found) if sys.argv[1] == "runs" else []}))
