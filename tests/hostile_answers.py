"""What a stranger's program may print in place of ours."""

import json
import zlib

DEEP, MANY = 100_000, 10_000_000
HOSTILE = {
    "nothing": b"",
    "no JSON": b"\xff\xfe{",
    "deep": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP,
    "a huge number": b"1" + b"0" * 400,
    "a huge number in a list": b"[1" + b"0" * 400 + b"]",
    "NaN": b"[NaN]",
    "Infinity": b'{"tests": ["a"], "sets": [[Infinity]], "files": {}}',
    "a list of the wrong": b"[[1, 2, 3, 4]]",
    "an empty list": b"[]",
    "an empty object": b"{}",
    "null": b"null",
    "a number": b"1",
    "a text": b'"x"',
    "a lone half": b'{"id": "tests/\\ud800.py::x", "outcome": "collected"}',
    "a NUL": b'{"id": "tests/\\u0000.py::x", "outcome": "collected"}',
    "wrong types": json.dumps({"found": [1], "gone": [], "stopped": {}, "unread": 1, "tests": 1, "sets": 2}).encode(),
    "a huge second": b'{"id": "a::x", "outcome": "passed", "seconds": 1' + b"0" * 400 + b"}",
    "an endless second": b'{"id": "a::x", "outcome": "passed", "seconds": 1e999}',
    "equal keys": b'{"a": 1, "a": 2}',
    "truncated zlib": zlib.compress(b"100644 ab path\0" * 999)[:-9],
    "zlib of something else": zlib.compress(b"\xff\0\0 \0"),
}


def many() -> bytes:
    """Ten million values in 30 MB."""
    return b'{"id":"a::x","outcome":"passed","x":[' + b",".join([b"[]"] * MANY) + b"]}"
