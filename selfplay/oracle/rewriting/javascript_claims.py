"""Makes every assertion in JavaScript tests false: for `node:assert` and similar, jest, chai, should and `t.equal`.

The expected value of an equality becomes another value of the same kind, near the right one or far from it; other
assertions are negated.
"""

import re
import secrets
from collections.abc import Collection, Sequence

from selfplay.oracle.rewriting.javascript_code import JavaScriptCalls
from selfplay.oracle.rewriting.secret_names import secret_name
from selfplay.oracle.rewriting.variants import FAR

VARIANTS = 6
"""How the other value differs: longer, changed in one place, in case, in white space, shorter, in order."""
_CLAIM = re.compile(
    r"\b(?:assert|t)(?:\.assert)?(?:\.(?P<assert>\w+))?\s*(?P<a>\()"
    r"|\)\s*\.\s*(?P<not>not\s*\.\s*)?(?P<jest>to[A-Z]\w*)\s*(?P<b>\()"
    r"|\.\s*(?:to|should)\s*\.\s*(?P<chai>not\s*\.\s*)?(?:\w+\s*\.\s*)*+(?P<word>\w+)\b\s*(?P<c>\()?"
)
_OPPOSITE = {
    "notEqual": "equal", "notStrictEqual": "strictEqual", "notDeepEqual": "deepEqual", "throws": "doesNotThrow",
    "notDeepStrictEqual": "deepStrictEqual", "doesNotThrow": "throws", "match": "doesNotMatch",
    "doesNotMatch": "match", "rejects": "doesNotReject", "doesNotReject": "rejects",
}  # fmt: skip
_OF_A_VALUE = (
    "equal", "strictEqual", "deepEqual", "deepStrictEqual", "is", "same", "strictSame", "equals", "deepEquals",
)  # fmt: skip
_EXPECTED = ("toBe", "toEqual", "toStrictEqual", "toContain", "toContainEqual", "toMatchObject")
_NEAR = ("toBe", "toEqual", "toStrictEqual")
_CHAI = ("equal", "equals", "eq", "eql")
Edit = tuple[int, int, str]
"""(start, end, replacement)."""


def falsified(source: str, other: str, variant: int) -> str:
    """The test with each of its assertions made false; empty if none is recognised. `other`: the function that returns
    another value of the same kind; `variant`: how it differs."""
    edits, calls = list[Edit](), JavaScriptCalls(source)
    for found in _CLAIM.finditer(source):
        bracket = next((found.start(name) for name in "abc" if found[name]), None)
        call = calls.at(bracket) if bracket is not None else None
        edits += _edits(found, call.arguments if call else (), other, variant)
    return edited(source, edits) if edits else ""


def _edits(found: re.Match[str], arguments: Sequence[tuple[int, int]], other: str, variant: int) -> list[Edit]:
    def wrapped(number: int, how: int) -> list[Edit]:
        start, end = arguments[number]
        return [(start, start, f"{other}("), (end, end, f", {how})")]

    if found["word"]:
        if found["word"] in _CHAI and arguments and not found["chai"]:
            return wrapped(0, variant)
        before = re.match(r"\.\s*(?:to|should)\s*\.\s*", found[0])
        assert before is not None  # the claim begins with it
        return _negated(found, "chai", found.start() + before.end())
    if found["jest"]:
        if found["jest"] in _EXPECTED and arguments and not found["not"]:
            return wrapped(0, variant if found["jest"] in _NEAR else FAR)
        return _negated(found, "not", found.start("jest"))
    name = found["assert"] or ""
    if name in _OF_A_VALUE and len(arguments) > 1:
        return wrapped(1, variant)
    if arguments and (name in ("ok", "true", "truthy") or (not name and found[0].startswith("assert"))):
        start, end = arguments[0]
        return [(start, start, "!("), (end, end, ")")]
    return [(found.start("assert"), found.end("assert"), _OPPOSITE[name])] if name in _OPPOSITE else []


def _negated(found: re.Match[str], word: str, place: int) -> list[Edit]:
    """Remove `not.`, or insert it at `place`."""
    return [(found.start(word), found.end(word), "")] if found[word] else [(place, place, "not.")]


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Apply all edits to the text; edits at one place keep their order."""
    out, at = list[str](), 0
    for start, end, new in sorted(edits, key=lambda edit: edit[0]):
        out += [text[at:start], new]
        at = end
    return "".join([*out, text[at:]])


def other_value(tag: str, known: Collection[str]) -> str:
    """Source of a function that returns another value of the same kind. It also exposes objects that equal every value
    of a kind."""
    word, number, place = secret_name(known), 2 + secrets.randbelow(90), secrets.randbelow(1000)
    return f"""function o{tag}(value, variant) {{
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return Number.isNaN(value) ? {number} : value + [{number}, 1, -1, 2, -1, -2][variant];
  if (typeof value === 'bigint') return value + BigInt([{number}, 1, -1, 2, -1, -2][variant]);
  const at = value && value.length ? {place} % value.length : 0;
  if (typeof value === 'string') {{
    const one = value.slice(0, at) + (value[at] === 'x' ? 'y' : 'x') + value.slice(at + 1);
    const turned = [...value].map((sign) => sign === sign.toUpperCase() ? sign.toLowerCase() : sign.toUpperCase());
    const spaced = value.includes(' ') ? value.replaceAll(' ', '  ') : value + ' ';
    const found = [value + '{word}', one, turned.join(''), spaced, value.slice(0, -1), [...value].reverse().join('')];
    return found[variant] === value ? one : found[variant];
  }}
  if (Array.isArray(value)) {{
    if (variant === 0 || value.length === 0) return [...value, '{word}'];
    if (variant === 4) return value.slice(0, -1);
    return value.map((inner, index) => index === at ? o{tag}(inner, variant) : inner);
  }}
  if (value instanceof Set) return new Set(variant % 2 && value.size ? [...value].slice(1) : [...value, '{word}']);
  if (value instanceof Map) return new Map([...value, ['{word}', {number}]]);
  const plain = value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype;
  if (!plain) return Symbol('{word}');
  const keys = Object.keys(value);
  if (variant === 0 || keys.length === 0) return {{ ...value, {word}: {number} }};
  return {{ ...value, [keys[0]]: o{tag}(value[keys[0]], variant) }};
}}
"""
