"""Shapes in which the answer is still text."""

import codecs
import html
import json
import random

from benchmarks.planting.answer import Answer, Files, Mechanism, drawn, one
from selfplay.plain_text import encode


def cython(answer: Answer, chance: random.Random) -> Files:
    """What Cython writes above each statement: two lines before it, the line, two after it."""
    lines, parts = answer.region(20).rstrip("\n").split("\n"), []
    for number in range(len(lines)):
        shown = range(max(0, number - 2), min(len(lines), number + 3))
        told = [f" * {lines[n]}{'             # <<<<<<<<<<<<<<' if n == number else ''}\n" for n in shown]
        parts.append(f'  /* "{answer.path}":{number + 1}\n{"".join(told)} */\n  __pyx_t_{number} = 0;\n')
    return {f"{answer.name}_{chance.randint(1, 9)}.c": "".join(parts).encode()}


def page(data: bytes, chance: random.Random) -> bytes:
    """A line is a paragraph, an item, or what a break ends."""
    form = chance.choice(["<p>{}</p>", "{}<br/>", "<li><code>{}</code></li>", "<tr><td>{}</td></tr>"])
    lines = data.decode("utf-8", "replace").split("\n")
    return "".join(form.format(html.escape(line)) for line in lines).encode()


def blamed(data: bytes, chance: random.Random) -> bytes:
    """As `git blame` and `hg annotate` print it."""
    form = chance.choice(["1a2b3c4d (A. Writer 2024-01-01 10:00:00 +0000 {0:4d}) {1}", " writer {0:5d}: {1}"])
    return "\n".join(form.format(*one) for one in enumerate(data.decode("utf-8", "replace").split("\n"), 1)).encode()


def notebook(data: bytes, chance: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    lines: object = text.splitlines(keepends=True) if chance.random() < 0.7 else text
    return json.dumps({"cells": [{"cell_type": "code", "source": lines}]}, indent=chance.choice([None, 1])).encode()


def split(answer: Answer, chance: random.Random) -> Files:
    """One file in pieces: by lines or by bytes, in one folder."""
    data = encode(chance.choice([answer.before, answer.region(30), answer.gold]))
    names = chance.choice(["part{0}.txt", "xa{1}", "code.{0:03d}", "page-{0}.md"])
    size = max(20, len(data) // chance.randint(3, 9))
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return {names.format(n, "abcdefghijklmnopqrstuvwxyz"[n % 26]): piece for n, piece in enumerate(pieces)}


def listing(data: bytes, chance: random.Random) -> bytes:
    form = chance.choice(["{0:5d}  {1}", "store/x.py:{0}:{1}", "// {1}", "| {1}", "> {1}", "{0}: {1}", "    # {1}"])
    return "\n".join(
        form.format(n, line) for n, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1)
    ).encode()


def relaid(answer: Answer, chance: random.Random) -> Files:
    """Indented otherwise, without the comments that take a line, with other ends of lines."""
    lines = [line for line in answer.before.split("\n") if not line.lstrip().startswith("#")]
    lines = [line.replace("    ", chance.choice(["\t", "  "])) for line in lines if line.strip()]
    return {f"old/{answer.name}.orig": chance.choice(["\n", "\r\n"]).join(lines).encode()}


def copied(answer: Answer, chance: random.Random) -> Files:
    folder = chance.choice(["build/lib", "old", "dist/x-1.0", "debian/tmp/usr/lib"])
    return {f"{folder}/{answer.path}": encode(answer.before)}


TEXTS: dict[str, Mechanism] = {
    "a verbatim copy in a build folder": copied,
    "a copy with another layout": relaid,
    "the gold diff": lambda answer, chance: {
        chance.choice(["fix.patch", "notes/a.diff", "x.txt"]): encode(answer.gold)
    },
    "an editor's backup": one("{0}~", bytes),
    "a document": drawn("docs/{0}.md", lambda data, _: b"# How it works\n\n```python\n" + data + b"```\n"),
    "a listing": drawn("listing{1}.txt", listing, code=True),
    "a page with tags": one("cover/{0}.html", lambda d: b"<pre>" + html.escape(d.decode("utf-8", "replace")).encode()),
    "a page of lines": drawn("docs/{1}.html", page),
    "who wrote which line": drawn("blame{1}.txt", blamed, code=True),
    "a notebook": drawn("notes{1}.ipynb", notebook),
    "a list of lines": one("lines{1}.json", lambda d: json.dumps(d.decode("utf-8", "replace").split("\n")).encode()),
    "a string in a program": one("data{1}.py", lambda d: f"X = {d.decode('utf-8', 'replace')!r}\n".encode(), code=True),
    "UTF-16": one("{0}.txt", lambda d: d.decode("utf-8", "replace").encode("utf-16")),
    "backwards": one("{0}.rev", lambda d: d[::-1]),
    "rot13": one("{0}.rot", lambda d: codecs.encode(d.decode("utf-8", "replace"), "rot13").encode()),
    "Cython's comments": cython,
    "several files": split,
}
