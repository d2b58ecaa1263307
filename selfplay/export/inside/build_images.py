"""Builds the images of this dataset: python build_images.py [--base IMAGE] [INSTANCE_ID ...]; all without names.

Needs the `docker` command and an engine. `--base` replaces the base image of every environment. What stands behind `--`
is told to `docker build` where packages are installed: -- --network host --build-arg PIP_INDEX_URL=URL (also
PIP_EXTRA_INDEX_URL, npm_config_registry, GOPROXY and GOSUMDB). An image keeps these in its history: a URL there may
hold no user and no password.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BROKEN = """ARG ENVIRONMENT
FROM ${ENVIRONMENT} AS broken
COPY diffs/ /selfplay/
RUN cd /testbed && for diff in /selfplay/*.diff; do git apply --whitespace=nowarn "$diff" || exit 1; done \\
 && rm -rf /selfplay .git && find . -name __pycache__ -type d -prune -exec rm -rf {} + \\
 && find . -exec touch -h -d @946684800 {} + \\
 && mkdir /settled && tar --sort=name -c . | tar -x -C /settled && cd /settled \\
 && git init -q && git add -A -f \\
 && GIT_AUTHOR_DATE='@946684800 +0000' GIT_COMMITTER_DATE='@946684800 +0000' \\
    git -c user.name=selfplay -c user.email=selfplay@localhost \\
    commit -q -m "The repository"
FROM ${ENVIRONMENT}
RUN cd / && rm -rf /testbed && git config --system --add safe.directory '*'
COPY --from=broken /settled /testbed
COPY extra/ /
"""
"""All files of the tree are written at once, with one time: a time or a layer would name those that the bug changed."""


def build(tag, folder, *arguments):
    command = ["docker", "build", "-q", "-t", tag, *arguments, str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print("built", tag, flush=True)


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


def parsed(words):
    """(the options, what `docker build` is told)"""
    own, told = words, []
    if "--" in words:
        own, told = words[: words.index("--")], words[words.index("--") + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instances", nargs="*")
    parser.add_argument("--base", help="instead of the base image of every environment")
    options = parser.parse_args(own)
    refuse_credentials(told)
    return options, told


def refuse_credentials(told):
    """Whoever has an image can read the build arguments in its history."""
    for before, word in zip(["", *told], told, strict=False):
        name, given, value = word.rpartition("--build-arg=")[2].partition("=")
        if "--build-arg" not in (before, word.partition("=")[0]):
            continue
        if re.search(r"//[^/?#\s,|]*@", value if given else os.environ.get(name, "")):
            sys.exit(
                "build argument " + name + ": its URL holds a user or a password, which the history of an image"
                " shows to everyone who gets it; name a proxy or a mirror that needs none, as with --network host"
            )


def chosen(names):
    """The rows of these instances, of all without names."""
    found = [row for row in rows() if not names or row["instance_id"] in names]
    unknown = set(names) - {row["instance_id"] for row in found}
    if unknown:
        sys.exit("not in this dataset: " + ", ".join(sorted(unknown)))
    return found


def environment(key, base, told, ready):
    """The name of the image of an environment, built when it is not in `ready`."""
    name = "selfplay/environments:" + key
    if key not in ready:
        build(name, HERE / "environments" / key, *(["--build-arg", "BASE=" + base] if base else []), *told)
        ready.add(key)
    return name


def main():
    given, told = parsed(sys.argv[1:])
    ready = set()
    for row in chosen(given.instances):
        below = environment(row["ssr_environment_key"], given.base, told, ready)
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "Dockerfile").write_text(BROKEN)
            (place / "diffs").mkdir()
            for number, name in enumerate(("ssr_bug_inject", "ssr_test_weaken", "ssr_attempt")):
                if row[name]:
                    (place / "diffs" / ("%d.diff" % number)).write_bytes(row[name].encode("utf-8"))
            (place / "extra").mkdir()
            added = HERE / "instances" / row["instance_id"]
            if added.is_dir():
                shutil.copytree(added, place / "extra", dirs_exist_ok=True)
            name = row["image_name"] if "image_name" in row else row["image"]
            build(name, place, "--build-arg", "ENVIRONMENT=" + below)


if __name__ == "__main__":
    main()
