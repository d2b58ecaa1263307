"""Makes SWE-smith know the repositories of this dataset.

`import swesmith_profiles` registers a profile of each; `python swesmith_profiles.py remotes` makes
`remotes/<name>.git`, a bare repository with a branch for each bug, named by it: its first commit has the bug, its
second lacks the tests that show it. Needs git; nothing is pushed. `python swesmith_profiles.py table` writes the tables
as JSON lines, where they are Parquet: `swesmith.harness.eval` reads no other.
"""

import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WHO = {
    "GIT_AUTHOR_DATE": "@946684800 +0000",
    "GIT_COMMITTER_DATE": "@946684800 +0000",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}
WHO.update({"GIT_" + who + "_" + what: "selfplay" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")})


def rows():
    files = sorted(HERE.glob("*.jsonl"))
    for file in files:
        with file.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    if not files:
        import pyarrow.parquet

        for file in sorted(HERE.glob("*.parquet")):
            for batch in pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=100):
                yield from batch.to_pylist()


def register():
    """A profile of every repository, with the image and the tests that each row names."""
    from swesmith.profiles import registry
    from swesmith.profiles.base import RepoProfile

    known = {}
    for row in rows():
        known.setdefault(row["repo"], {})[row["instance_id"]] = row

    def parsed(self, log):
        found = re.findall(r"^(PASSED|FAILED) (.+?)\r?$", log, re.MULTILINE)
        return {test: outcome for outcome, test in found}

    for repo, bugs in known.items():
        key = repo.partition("/")[2]
        owner, name, commit = re.fullmatch(r"(.+?)__(.+)\.([^.]+)", key).groups()

        def command(self, instance, f2p_only=False, bugs=bugs):
            return bugs[instance["instance_id"]]["ssr_run_tests"], []

        made = {"owner": owner, "repo": name, "commit": commit, "log_parser": parsed, "get_test_cmd": command}
        made["__annotations__"] = dict.fromkeys(("owner", "repo", "commit"), str)
        made["timeout"] = int(max(row["ssr_seconds"] for row in bugs.values()) * 2)
        registry.register_profile(dataclass_of("Selfplay" + str(len(registry)), RepoProfile, made))


def dataclass_of(name, base, made):
    import dataclasses

    return dataclasses.dataclass(type(base)(name, (base,), made))


def git(folder, *arguments, data=None):
    command = ["git", "-c", "core.quotepath=off", "-C", str(folder), *arguments]
    subprocess.run(command, input=data, check=True, stdout=subprocess.DEVNULL, env=WHO)


def commit(folder, diffs, message):
    for diff in diffs:
        if diff:
            git(folder, "apply", "--whitespace=nowarn", "-", data=diff.encode("utf-8"))
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


def remotes():
    for row in rows():
        bare = HERE / "remotes" / (row["repo"].partition("/")[2] + ".git")
        with tempfile.TemporaryDirectory() as folder:
            if not bare.exists():
                bare.mkdir(parents=True)
                git(bare, "init", "-q", "--bare", "-b", "main")
                git(folder, "init", "-q", "-b", "main")
                archive = HERE / "environments" / row["ssr_environment_key"] / "original.tar.gz"
                with tarfile.open(archive) as packed:
                    packed.extractall(folder, filter="tar")
                commit(folder, (), "The repository")
                git(folder, "push", "-q", str(bare), "main")
            else:
                git(folder, "clone", "-q", "--branch", "main", str(bare), ".")
            git(folder, "checkout", "-q", "-b", row["instance_id"])
            commit(folder, (row["patch"],), "The bug")
            commit(folder, (row["ssr_test_weaken"],), "Its tests removed")
            git(folder, "push", "-q", "-f", str(bare), row["instance_id"])


def table():
    import pyarrow.parquet

    for file in sorted(HERE.glob("*.parquet")):
        with file.with_suffix(".jsonl").open("w", encoding="ascii") as lines:
            for batch in pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=100):
                lines.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


if __name__ == "__main__":
    if sys.argv[1:] not in (["remotes"], ["table"]):
        sys.exit(__doc__)
    {"remotes": remotes, "table": table}[sys.argv[1]]()
else:
    register()
