"""Makes SWE-smith know the repositories of this dataset.

`import swesmith_profiles` registers a profile of each; `python swesmith_profiles.py COMMAND`:

  images [--base IMAGE] [-- ...]   builds the image of each, as `build_images.py`, with a branch for each bug: its first
                                   commit has the bug, its second lacks the tests that show it
  eval ...                         `python -m swesmith.harness.eval ...`, which knows these repositories then
  remotes                          the same branches in `remotes/<name>.git`, bare repositories; nothing is pushed
  table                            the tables as JSON lines, where they are Parquet: the evaluation reads no other
"""

import json
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile

import build_images

HERE = pathlib.Path(__file__).resolve().parent
WHO = {
    "GIT_AUTHOR_DATE": "@946684800 +0000",
    "GIT_COMMITTER_DATE": "@946684800 +0000",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}
WHO.update({"GIT_" + who + "_" + what: "selfplay" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")})


BRANCHES = """ARG ENVIRONMENT
FROM ${ENVIRONMENT}
COPY branches/ /selfplay/
RUN bash -eu /selfplay/branches.sh && rm -rf /selfplay
"""
MAKE_BRANCHES = """cd /testbed
commit() { git add -A -f; git -c user.name=selfplay -c user.email=selfplay@localhost commit -q --allow-empty -m "$1"; }
export GIT_AUTHOR_DATE='@946684800 +0000' GIT_COMMITTER_DATE='@946684800 +0000'
rm -rf .git && find . -name __pycache__ -type d -prune -exec rm -rf {} +
git config --system --add safe.directory '*'
git init -q && git checkout -q -b main && commit "The repository"
for bug in /selfplay/*/; do
  git checkout -q -b "$(basename "$bug")" main
  for change in "1 The bug" "2 Its tests removed"; do
    [ ! -e "$bug${change%% *}.diff" ] || git apply --whitespace=nowarn "$bug${change%% *}.diff"
    commit "${change#* }"
  done
done
git checkout -q main
"""


def register():
    """A profile of every repository, with the image and the tests that each row names."""
    from swesmith.profiles import registry
    from swesmith.profiles.base import RepoProfile

    known = {}
    for row in build_images.rows():
        known.setdefault(row["repo"], {})[row["instance_id"]] = row

    def parsed(self, log):
        found = re.findall(r"^(PASSED|FAILED) (.+?)\r?$", log, re.MULTILINE)
        return {test: outcome for outcome, test in found}

    for repo, bugs in known.items():
        key = repo.partition("/")[2]
        owner, _, named = key.partition("__")
        name, _, commit = named.rpartition(".")

        def command(self, instance, f2p_only=False, bugs=bugs):
            return bugs[instance["instance_id"]]["ssr_run_tests"], []

        made = {"owner": owner, "repo": name, "commit": commit, "log_parser": parsed, "get_test_cmd": command}
        made["__annotations__"] = dict.fromkeys(("owner", "repo", "commit"), str)
        made["image_name"] = property(lambda self, key=key: image_of(key))
        made["_is_repo_private"] = lambda self: False  # else it asks a server for the repository
        made["pull_image"] = pulled
        made["timeout"] = int(max(row["ssr_seconds"] for row in bugs.values()) * 2)
        registry.register_profile(dataclass_of("Selfplay" + str(len(registry)), RepoProfile, made))


def image_of(key):
    """The local image of a repository with all its bugs."""
    return "selfplay/swesmith:" + key[-128:].lstrip(".-")


def pulled(self):
    """Nothing is pulled: the images are built here."""
    looked = ["docker", "image", "inspect", self.image_name]
    if subprocess.run(looked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise RuntimeError("no image " + self.image_name + " here: python swesmith_profiles.py images builds it")


def dataclass_of(name, base, made):
    import dataclasses

    return dataclasses.dataclass(type(base)(name, (base,), made))


SAFE = ("-c", "core.quotepath=off", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")


def git(folder, *arguments, data=None):
    command = ["git", *SAFE, "-C", str(folder), *arguments]
    subprocess.run(command, input=data, check=True, stdout=subprocess.DEVNULL, env=WHO)


def commit(folder, diffs, message):
    for diff in diffs:
        if diff:
            git(folder, "apply", "--whitespace=nowarn", "-", data=diff.encode("utf-8"))
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


def unpack(archive, folder):
    """Write an archive's files and links, without git data and nothing beyond the folder. Python has safe extraction of
    its own since 3.11.4 alone."""
    with tarfile.open(archive) as packed:
        for one in packed:
            path = os.path.normpath(os.path.join(folder, one.name))
            inside = os.path.join(os.path.realpath(os.path.dirname(path)), "").startswith(os.path.join(folder, ""))
            if ".git" in one.name.lower().split("/") or not inside or os.path.lexists(path):
                continue
            if one.isdir():
                os.makedirs(path)
            elif one.issym():
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(one.linkname, path)
            elif one.isreg():
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with packed.extractfile(one) as source, open(path, "xb") as target:
                    shutil.copyfileobj(source, target)
                os.chmod(path, 0o755 if one.mode & 0o100 else 0o644)


def remotes():
    for row in build_images.rows():
        bare = HERE / "remotes" / (row["repo"].partition("/")[2] + ".git")
        with tempfile.TemporaryDirectory() as folder:
            if not bare.exists():
                bare.mkdir(parents=True)
                git(bare, "init", "-q", "--bare", "-b", "main")
                git(folder, "init", "-q", "-b", "main")
                archive = HERE / "environments" / row["ssr_environment_key"] / "original.tar.gz"
                unpack(archive, os.path.realpath(folder))
                commit(folder, (), "The repository")
                git(folder, "push", "-q", str(bare), "main")
            else:
                git(folder, "clone", "-q", "--branch", "main", str(bare), ".")
            git(folder, "checkout", "-q", "-b", row["instance_id"])
            commit(folder, (row["patch"],), "The bug")
            commit(folder, (row["ssr_test_weaken"],), "Its tests removed")
            git(folder, "push", "-q", "-f", str(bare), row["instance_id"])


def images():
    """One image a repository: the environment of its first bug, and all bugs as branches."""
    given, told = build_images.parsed(sys.argv[2:])
    bugs, ready = {}, set()
    for row in build_images.chosen(given.instances):
        bugs.setdefault(row["repo"].partition("/")[2], []).append(row)
    for key, some in bugs.items():
        below = build_images.environment(some[0]["ssr_environment_key"], given.base, told, ready)
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "Dockerfile").write_text(BRANCHES)
            for row in some:
                (place / "branches" / row["instance_id"]).mkdir(parents=True)
                for number, diff in ((1, row["patch"]), (2, row["ssr_test_weaken"])):
                    if diff:
                        file = place / "branches" / row["instance_id"] / ("%d.diff" % number)
                        file.write_bytes(diff.encode("utf-8"))
            (place / "branches" / "branches.sh").write_text(MAKE_BRANCHES)
            build_images.build(image_of(key), place, "--build-arg", "ENVIRONMENT=" + below)


def evaluate():
    """SWE-smith's own command, told what stands behind `eval`."""
    register()
    del sys.argv[1]
    runpy.run_module("swesmith.harness.eval", run_name="__main__", alter_sys=True)


def table():
    import pyarrow.parquet

    for file in sorted(HERE.glob("*.parquet")):
        with file.with_suffix(".jsonl").open("w", encoding="ascii") as lines:
            for batch in pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=100):
                lines.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


COMMANDS = {"images": images, "eval": evaluate, "remotes": remotes, "table": table}
if __name__ == "__main__":
    if sys.argv[1:2] not in [[name] for name in COMMANDS]:
        sys.exit(__doc__)
    COMMANDS[sys.argv[1]]()
else:
    register()
