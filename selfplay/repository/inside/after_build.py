"""Runs in the build's sandbox after the installation: removes copies of the project, and reports what changed.

The manifest arrives on stdin as JSON: `tracked` (path -> git blob id), `roots`, whether there is a `python` environment
in `env`, and whether to add its import roots. The report goes to stdout as one line of JSON, with paths relative to the
tree; it names a file that lists the new files, each path ended by a null byte.
"""

import hashlib
import importlib.machinery
import json
import os
import stat
import subprocess
import sys
import sysconfig
import tempfile

SKIPPED = {
    ".git",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".eggs",
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
DEPTH = 100
MOST_REPORTED = 1000
MOST_RECORD = 16 << 20
"""Bytes of a distribution's list of files with their digests; a longer one is removed."""
BLOCK = 1 << 20


def blob(path):
    """The git id of a link or a regular file; None for anything else."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(path))
        return hashlib.sha1(b"blob %d\0" % len(target) + target).hexdigest()
    if not stat.S_ISREG(status.st_mode):
        return None
    digest = hashlib.sha1(b"blob %d\0" % status.st_size)
    with open(path, "rb") as stream:
        while True:
            data = stream.read(BLOCK)
            if not data:
                return digest.hexdigest()
            digest.update(data)


def walk(root):
    """All paths except folders, relative to the tree. Nothing below a depth of `DEPTH` is visited."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:  # unreadable, or a name that is too long
            continue
        for entry in found:
            path = os.path.join(folder, entry.name)
            if not entry.is_dir(follow_symlinks=False):
                if not entry.name.endswith((".pyc", ".pyo")):
                    yield path
            elif entry.name not in SKIPPED and not build_copy(folder, entry.name) and path.count("/") < DEPTH:
                waiting.append(path)


def build_copy(folder, name):
    """Whether the folder is a build's output: it contains copies of modules that must not exist twice."""
    return (folder == "build" and name.startswith(BUILD_COPIES)) or (folder == "" and name == "dist")


def compared(root, manifest):
    """(changed tracked files, new regular files)"""
    changed, new = [], []
    for path in walk(root):
        full = os.path.join(root, path)
        try:
            if path in manifest:
                if blob(full) != manifest[path]:
                    changed.append(path)
            elif stat.S_ISREG(os.lstat(full).st_mode):
                new.append(path)
        except OSError:  # unreadable
            continue
    return changed, new


def remove_copies(root, roots, manifest, site):
    """Delete from `site` every package and module that the tree also has; returns their paths in `site`."""
    removed = []
    for top in roots:
        prefix = "" if top == "." else top.rstrip("/") + "/"
        tracked = {path[len(prefix) :] for path in manifest if path.startswith(prefix) and path.endswith(".py")}
        for path in sorted(tracked):
            copy = os.path.join(site, path)
            if path.split("/")[0] in NOT_MODULES or not os.path.lexists(copy):
                continue
            package = next((p for p in parents(path) if p + "/__init__.py" in tracked), None)
            subprocess.run(["rm", "-rf", "--", os.path.join(site, package) if package else copy], check=True)
            removed.append(package or path)
    return removed


def forget_removed(site):
    """Take from each distribution's list of files what is not there: a digest of a removed file is one of the tree's
    original, against which anybody could try what he writes."""
    for folder in sorted(os.listdir(site)):
        path = os.path.join(site, folder, "RECORD")
        if not folder.endswith(".dist-info") or not os.path.isfile(path) or os.path.islink(path):
            continue
        with open(path, "rb") as stream:
            lines = stream.read(MOST_RECORD + 1)
        os.unlink(path)
        if len(lines) <= MOST_RECORD:
            with open(path, "xb") as stream:
                stream.writelines(line for line in lines.splitlines(True) if is_there(site, line))


def is_there(site, line):
    """Whether a line of RECORD is of a file; a path that holds a comma counts as none."""
    return os.path.lexists(os.path.join(os.fsencode(site), line.split(b",")[0].strip()))


def parents(path):
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def elsewhere(root, roots, manifest):
    """Top-level modules of the tree that Python would import from elsewhere."""
    sys.path[:] = [root] + [path for path in sys.path if path]
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


def site_packages(env):
    """The environment's package folder."""
    site = sysconfig.get_path("purelib")
    if not os.path.realpath(site).startswith(env + "/"):
        sys.exit("this interpreter keeps its packages at %r, outside %s" % (site, env))
    return site


def listed(paths):
    """Write the paths to a new file; returns its path."""
    descriptor, name = tempfile.mkstemp(dir="/tmp")
    with open(descriptor, "wb") as stream:
        stream.write(b"".join(os.fsencode(path) + b"\0" for path in paths))
    return name


def main():
    root = os.getcwd()
    request = json.loads(sys.stdin.buffer.read().decode("utf-8", "surrogateescape"))
    manifest, roots = request["tracked"], request["roots"]
    site = site_packages(request["env"]) if request["python"] else ""
    removed = remove_copies(root, roots, manifest, site) if site else []
    if removed:
        forget_removed(site)
    if site and (removed or request["add_roots"]):
        roots_file = os.path.join(site, "_selfplay_roots.pth")
        subprocess.run(["rm", "-rf", "--", roots_file], check=True)
        with open(roots_file, "x") as stream:
            stream.write("".join(os.path.normpath(os.path.join(root, top)) + "\n" for top in roots))
    changed, new = compared(root, manifest)
    strays = elsewhere(root, roots, manifest) if site and not removed else []
    report = {"changed": changed, "removed": removed, "strays": strays}
    report = {name: paths[:MOST_REPORTED] for name, paths in report.items()}
    print(json.dumps({**report, "listing": listed(new)}))


if __name__ == "__main__":
    main()
