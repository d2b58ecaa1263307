"""Runs in the build's sandbox when all is installed: takes away copies of the project, and reports what changed.

Arguments: the manifest (tracked path -> git blob id), the folder for generated files, the report to write. Paths in
the report are relative to the tree.
"""

import hashlib
import importlib.machinery
import json
import os
import shutil
import sys

SKIPPED = {
    ".git",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".eggs",
    "node_modules/.cache",
}
BUILD_COPIES = ("lib", "bdist", "temp", "__editable__")
NOT_MODULES = {
    "setup.py",
    "conftest.py",
    "noxfile.py",
    "tests",
    "test",
    "testing",
    "docs",
    "doc",
    "examples",
    "benchmarks",
}


def blob(path):
    if os.path.islink(path):
        data = os.fsencode(os.readlink(path))
    else:
        with open(path, "rb") as stream:
            data = stream.read()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def walk(root):
    for folder, names, files in os.walk(root):
        relative = os.path.relpath(folder, root)
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        names[:] = [n for n in names if n not in SKIPPED and n not in links and not build_copy(relative, n)]
        for name in files + links:
            if not name.endswith((".pyc", ".pyo")):
                yield os.path.normpath(os.path.join(relative, name))


def build_copy(folder, name):
    """Left by builds, and copies of the very modules that must not exist twice."""
    return (folder == "build" and name.startswith(BUILD_COPIES)) or (folder == "." and name == "dist")


def generated(root, manifest, output):
    changed, new = [], []
    for path in walk(root):
        full = os.path.join(root, path)
        if path in manifest:
            if blob(full) != manifest[path]:
                changed.append(path)
        elif os.path.isfile(full) and not os.path.islink(full):
            goal = os.path.join(output, path)
            os.makedirs(os.path.dirname(goal), exist_ok=True)
            shutil.copy2(full, goal)
            new.append(path)
    return changed, new


def remove_copies(root, roots, manifest, site):
    """Delete from `site` every package and module the tree also has; returns their paths in `site`."""
    removed = []
    for top in roots:
        prefix = "" if top == "." else top.rstrip("/") + "/"
        tracked = {path[len(prefix) :] for path in manifest if path.startswith(prefix) and path.endswith(".py")}
        for path in sorted(tracked):
            copy = os.path.join(site, path)
            if path.split("/")[0] in NOT_MODULES or not os.path.lexists(copy):
                continue
            package = next((p for p in parents(path) if p + "/__init__.py" in tracked), None)
            goal = os.path.join(site, package) if package else copy
            if os.path.isdir(goal) and not os.path.islink(goal):
                shutil.rmtree(goal)
            else:
                os.unlink(goal)
            removed.append(package or path)
    return removed


def parents(path):
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def elsewhere(root, roots, manifest):
    """Top-level modules of the tree that an import would take from outside it."""
    sys.path[:] = [root] + [path for path in sys.path if path and not path.startswith("/tmp")]
    strays = []
    for top in roots:
        prefix = "" if top == "." else top.rstrip("/") + "/"
        names = {
            p[len(prefix) :].split("/")[0] for p in manifest if p.startswith(prefix) and p.endswith("/__init__.py")
        }
        for name in sorted(names - NOT_MODULES):
            spec = importlib.machinery.PathFinder.find_spec(name) if name.isidentifier() else None
            if spec is not None and spec.origin and not os.path.realpath(spec.origin).startswith(root + "/"):
                strays.append(name)
    return strays


def main(manifest_path, output, report):
    root = os.getcwd()
    with open(manifest_path, encoding="utf-8", errors="surrogateescape") as stream:
        request = json.load(stream)
    manifest, roots, site = request["tracked"], request["roots"], request["site"]
    removed = remove_copies(root, roots, manifest, site) if site else []
    if site and (removed or request["add_roots"]):
        with open(os.path.join(site, "_selfplay_roots.pth"), "w") as stream:
            stream.write("".join(os.path.normpath(os.path.join(root, top)) + "\n" for top in roots))
    changed, new = generated(root, manifest, output)
    strays = elsewhere(root, roots, manifest) if site and not removed else []
    with open(report, "w", encoding="ascii") as stream:
        json.dump({"changed": changed, "generated": new, "removed": removed, "strays": strays}, stream)


if __name__ == "__main__":
    main(*sys.argv[1:])
