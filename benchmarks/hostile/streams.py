"""Hostile trajectories and hostile predictions."""

import base64
import json
import random
from collections.abc import Callable, Iterator

import zstandard

from benchmarks.hostile.changes import folder, instead, pipe, sparse, written, zero
from benchmarks.hostile.place import ESCAPE, MIB, TOLD, Case

SIZES = {"ids": 4, "mask": 1, "logprobs": 4}
"""Bytes of an item of each array of a segment."""
HEAD = json.dumps({"format": 2, "role": "solver", "policy": "p", "finish": "submitted"})


def step(arguments: str = "{}", output: str = "") -> str:
    said = f'"output": "{output}", "exit_code": 0, "seconds": 1'
    return f'{{"call": {{"tool": "bash", "arguments": {arguments}}}, {said}}}\n'


def packed(lines: Callable[[], list[str]]) -> Callable[[random.Random], bytes]:
    """A compressed file of these lines after a head."""
    return lambda dice: zstandard.compress("\n".join([HEAD, *lines()]).encode())


def bomb(dice: random.Random) -> bytes:
    """3 GB of spaces in some 94 kB."""
    packer = zstandard.ZstdCompressor().compressobj()
    parts = [packer.compress(HEAD.encode() + b"\n")]
    parts += [packer.compress(b" " * MIB) for _ in range(3000)]
    return b"".join([*parts, packer.flush()])


def wide_window(dice: random.Random) -> bytes:
    """A frame whose window alone would take 128 MiB."""
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return packer.compress((HEAD + "\n" + step()).encode() + dice.randbytes(MIB)) + packer.flush()


def segments(count: int) -> list[str]:
    """Lines of which each but the first begins as the one before and adds nothing: 330,000 ids each."""
    arrays = {name: base64.b64encode(bytes(size * 330_000)).decode() for name, size in SIZES.items()}
    rest = {"versions": [0, 0], "role": "solver", "finish": "stop", "stretches": []}
    again = json.dumps({**dict.fromkeys(arrays, ""), **rest, "same": 330_000})
    return [json.dumps({**arrays, **rest}), *[again] * (count - 1)]


def episodes() -> Iterator[Case]:
    def told(name: str, data: Callable[[random.Random], bytes] | bytes) -> Case:
        return Case(f"an episode: {name}", written("", data, "trajectory"), ("show-episode",), ("export",))

    yield told("94 kB that are 3 GB", bomb)
    yield told("a window of 128 MiB", wide_window)
    yield told("2 million lists", packed(lambda: [step('{"x": [' + "[]," * 2_000_000 + "0]}")]))
    yield told("100,000 brackets", packed(lambda: [step("[" * 100_000)]))
    yield told("200 MB of line ends", packed(lambda: ["\n" * (200 * MIB)]))
    yield told("300,000 steps", packed(lambda: [step()] * 300_000))
    beyond = json.dumps({"ids": [1 << 40], "mask": [1], "logprobs": [0.0]})
    yield told("numbers beyond arrays", packed(lambda: [beyond]))
    yield told("16 million ids in 50 lines", packed(lambda: segments(50)))
    yield told("text for a number", HEAD.replace('"policy": "p"', '"policy": "p", "seconds": "x"').encode())
    yield told("a list for a message", (HEAD[:-1] + ', "record": {"conversations": [[[]]]}}').encode())
    yield told("noise", lambda dice: dice.randbytes(100_000))
    yield told("noise in a frame", lambda dice: zstandard.compress(dice.randbytes(100_000)))
    yield told("nothing", b"")
    for kind, make in {"a pipe": pipe, "a folder": folder, "a device": zero}.items():
        change = instead("", make, "trajectory")
        refused = () if kind == "a folder" else ("show-episode",)
        yield Case(f"an episode: {kind}", change, refused, ("export",))
    for name, lines in {
        "8 MB of emoji": lambda: [step(output="\U0001f600" * 950_000)] * 2,
        "30 MB of text": lambda: [step(output="x" * 15_000_000)] * 2,
        "390,000 lists": lambda: [step('{"x": [' + "[]," * 390_000 + "0]}")],
        "19,000 steps": lambda: [step()] * 19_000,
        "20 MB of text and five million ids": lambda: [step(output="x" * 10_000_000)] * 2 + segments(15),
        "escapes": lambda: [step(output=json.dumps(ESCAPE)[1:-1])],
    }.items():
        yield Case(f"an episode: {name}", written("", packed(lines), "trajectory"), (), (*TOLD, "episode-json"))


def predictions() -> Iterator[Case]:
    def given(name: str, data: Callable[[], bytes]) -> Case:
        return Case(f"predictions: {name}", written("", lambda dice: data(), "predictions"), ("predictions",))

    yield Case("predictions: 1 TB", sparse("", 1 << 40, "predictions"), ("predictions",))
    yield Case("predictions: a pipe", instead("", pipe, "predictions"), ("predictions",))
    yield given("2 million lists", lambda: b"[" + b"[]," * 2_000_000 + b"0]")
    yield given("100,000 brackets", lambda: b"[" * 100_000)
    yield given("a million entries", lambda: b'{"instance_id": "x", "model_patch": ""}\n' * 1_000_000)
    yield given("90 MB in a line", lambda: b'{"instance_id": "' + b"x" * (90 * MIB) + b'"}')
    yield given("100 MB in a line", lambda: b'{"instance_id": "' + b"x" * (100 * MIB) + b'"}')
    yield given("a list of 30 MB", lambda: b'[{"instance_id": "x", "model_patch": "' + b"x" * (30 * MIB) + b'"}]')
    yield given(
        "90 MB in lines",
        lambda: b"".join(
            b'{"instance_id": "%d", "model_patch": "%s"}\n' % (number, b"x" * 15 * MIB) for number in range(6)
        ),
    )
    yield given("a path", lambda: b'{"instance_id": "../../outside", "model_patch": ""}\n')
    yield given("an escape", lambda: json.dumps({"instance_id": ESCAPE, "model_patch": ""}).encode())
    yield given("a key twice", lambda: b'{"instance_id": "x", "instance_id": "y", "model_patch": ""}\n')
    yield given("no JSON", lambda: b"\xff\xfe\x00")
