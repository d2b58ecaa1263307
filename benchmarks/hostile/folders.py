"""Links, pipes and others in the place of a run's own files and folders, and sources that are not to be fetched."""

import os
import shutil
from collections.abc import Iterator

from benchmarks.hostile.changes import deep, fields, hard_link, instead, link, pipe, sparse, written
from benchmarks.hostile.place import ESCAPE, POOL, RUNNING, WRITING, Case, Change, Place


def many_folders(place: Place) -> None:
    (place.run / "curriculum.sqlite").unlink()
    for number in range(21_000):
        (place.run / "bugs" / f"b{number}").mkdir()


def many_originals(place: Place) -> None:
    for number in range(200_000):
        os.mknod(place.run / f"original-{number}")


def strange_names(place: Place) -> None:
    (place.run / "curriculum.sqlite").unlink()
    (place.run / "bugs" / f"x{ESCAPE}\ny").mkdir()


def without_original(source: str) -> Change:
    def change(place: Place) -> None:
        shutil.rmtree(place.run / "original")
        fields(source=source.replace("{outside}", str(place.outside)))(place)

    return change


def folders() -> Iterator[Case]:
    for name in ("curriculum.sqlite", "summary.json"):
        yield Case(f"{name} is a pipe", instead(name, pipe, "run"), POOL[:1] + WRITING)
        yield Case(f"{name} is a link", instead(name, link("secret"), "run"), POOL[:1] + WRITING)
    yield Case("a database of 1 TB", sparse("curriculum.sqlite", 1 << 40, "run"), POOL)
    yield Case("a summary of 1 TB", sparse("summary.json", 1 << 40, "run"), POOL[:1] + WRITING[:1])
    for text in ('{"suite": 3}', '{"notes": "x"}', "[1]", '{"suite": {}, "wanted": 1, "notes": []}'):
        yield Case(f"a summary {text}", written("summary.json", text.encode(), "run"), POOL[:1])
    yield Case("a journal", written("curriculum.sqlite-journal", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" * 99, "run"), POOL)
    yield Case("a log that is a link", instead("curriculum.sqlite-wal", link("secret"), "run"), POOL)
    yield Case("a log of 1 TB", sparse("curriculum.sqlite-wal", 1 << 40, "run"), POOL)
    for name in ("curriculum.sqlite-wal", "curriculum.sqlite-shm", "curriculum.sqlite", "train.sqlite-wal", ".lock"):
        yield Case(
            f"{name} is a hard link", instead(name, hard_link("secret"), "run"), ("solve", "show"), ("demonstrate",)
        )
    for name, count in (("weights", 3), ("checkpoints", 10), ("new", 200)):
        yield Case(f"a link {count} deep in {name}", instead(name, deep(count), "run"), ("solve",), ("show", "export"))
    yield Case("a lock that is a link", instead(".lock", link("made"), "run"), POOL)
    yield Case("a lock that is a pipe", instead(".lock", pipe, "run"), POOL)
    lists = b'{"x":[' + b",".join([b"[]"] * 249_000) + b"]}\n"
    yield Case("30 MB of a training's figures", written("metrics.jsonl", lists * 40, "run"), POOL[:1])
    for name in ("staging", "trajectories", "attempts", "bugs", "original"):
        yield Case(f"{name} is a link", instead(name, link("kept"), "run"), POOL)
    yield Case("a bug that is a link", instead("", link("kept"), "bug"), POOL[1:2], POOL[:1])
    yield Case("21,000 folders", many_folders, POOL[1:2])
    yield Case("200,000 originals", many_originals, POOL)
    yield Case("names that control a terminal", strange_names, POOL[1:2])
    yield Case("the source is this machine", without_original("{outside}"), RUNNING)
    yield Case("the source is a URL", without_original("http://127.0.0.1:9/x.git"), RUNNING)
    yield Case("the source is ssh", without_original("ssh://-oProxyCommand=x/y"), RUNNING)
