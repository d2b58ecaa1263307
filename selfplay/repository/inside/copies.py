"""Prints, as JSON, what among the installed packages looks like another copy of the project: its places, and a number
of each line of code in them.

The first argument is the tree, the others are where packages lie. A Python package counts if a folder of its name holds
at least half of its files' names, a single module if a file of its name holds at least half of its lines; a package of
npm counts by its name. Links are not followed: a link to the tree is no copy.
"""

import json
import os
import sys
import zlib

MOST_BYTES = 1 << 20
SOURCES = ("", "src", "lib", "python")
MOST_FOUND, MOST_LINES = 20, 200_000
SHORT = 8
"""Characters of a line that tells nothing."""
CODE = (".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")


def python_files(folder):
    try:
        return {name for name in os.listdir(folder) if name.endswith(".py")}
    except OSError:
        return set()


def lines(path):
    try:
        if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > MOST_BYTES:
            return set()
        with open(path, "rb") as stream:
            return {line.strip() for line in stream if len(line.strip()) > SHORT}
    except OSError:
        return set()


def projects(tree):
    """(packages: name -> the names of its files, modules: file's name -> its lines) at the top of a tree."""
    packages, modules = {}, {}
    for source in SOURCES:
        top = os.path.join(tree, source)
        for name in python_files(top):
            modules[name] = lines(os.path.join(top, name))
        for name in os.listdir(top) if os.path.isdir(top) else ():
            names = python_files(os.path.join(top, name))
            if "__init__.py" in names and len(names) > 1:
                packages[name] = names
            elif "__init__.py" in names:
                modules[name + "/__init__.py"] = lines(os.path.join(top, name, "__init__.py"))
    return packages, {name: held for name, held in modules.items() if len(held) > 9}


def npm_name(tree):
    try:
        with open(os.path.join(tree, "package.json"), "rb") as stream:
            name = json.loads(stream.read(MOST_BYTES)).get("name")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return name if isinstance(name, str) and name else None


def copies(tree, places):
    packages, modules = projects(tree)
    name, found = npm_name(tree), []
    for place in places:
        for here, folders, names in os.walk(place):
            for folder in [one for one in folders if one in packages]:
                held = python_files(os.path.join(here, folder))
                if 2 * len(held & packages[folder]) >= len(packages[folder]):
                    found.append(os.path.join(here, folder))
                    folders.remove(folder)
            within = [one + "/__init__.py" for one in folders if one + "/__init__.py" in modules]
            for module in [one for one in [*names, *within] if one in modules]:
                held = lines(os.path.join(here, module))
                if 2 * len(held & modules[module]) >= len(modules[module]):
                    found.append(os.path.join(here, module))
            if name and here.endswith("/node_modules/" + name) and "package.json" in names:
                found.append(here)
                folders[:] = []
            if len(found) >= MOST_FOUND:
                return found[:MOST_FOUND]
    return found


def told(places):
    """The numbers of the lines of code in the copies."""
    found = set()
    for place in places:
        for here, _, names in os.walk(place) if os.path.isdir(place) else [(os.path.dirname(place), (), [place])]:
            for name in names:
                if name.endswith(CODE) and len(found) < MOST_LINES:
                    found |= {zlib.crc32(line) for line in lines(os.path.join(here, name))}
    return sorted(found)[:MOST_LINES]


found = copies(sys.argv[1], sys.argv[2:])
print(
    json.dumps(
        {
            "places": [os.fsencode(place).decode("utf-8", "backslashreplace") for place in found],
            "lines": told(found),
        }
    )
)
