"""Makes the conditions of `[`, `[[` and `test` in shell tests false: inverts operators, or replaces the expected
value."""

import re

VARIANTS = 4
"""The variants: inverted; number one larger or text longer; number one smaller or text shorter; number far off."""
LONGEST_LINE = 500
"""The largest script that is read, in bytes: a longer one may contain many conditions that never end."""
_LOOPS = re.compile(r"\s*(?:while|until|for|if|elif|case)\b")
_CLAIM = re.compile(
    r"(?P<head>(?:\[\[?|\btest)\s[^;|&\n]*?\s)(?P<sign>-eq|-ne|-lt|-le|-gt|-ge|==|=|!=)(?P<space>\s+)"
    r"(?P<value>\"[^\"$`]*\"|'[^']*'|[\w.-]+|\S+)"
)
_OPPOSITE = {
    "-eq": "-ne", "-ne": "-eq", "-lt": "-ge", "-ge": "-lt", "-gt": "-le", "-le": "-gt", "=": "!=", "==": "!=",
    "!=": "=",
}  # fmt: skip


def falsified(text: str, variant: int) -> str:
    """The test with each of these conditions made false, so that it must fail; empty if this variant changes none.
    Conditions of loops and branches stay as they are."""
    made = "\n".join(_falsified(line, variant) for line in text.split("\n"))
    return "" if made == text else made


def _falsified(line: str, variant: int) -> str:
    if len(line) > LONGEST_LINE or _LOOPS.match(line):
        return line
    return _CLAIM.sub(lambda claim: _other(claim, variant), line)


def _other(claim: re.Match[str], variant: int) -> str:
    if variant == 0:
        return f"{claim['head']}{_OPPOSITE[claim['sign']]}{claim['space']}{claim['value']}"
    if claim["sign"] not in ("-eq", "=", "=="):
        return claim[0]
    return f"{claim['head']}{claim['sign']}{claim['space']}{_another(claim['value'], variant)}"


def _another(value: str, variant: int) -> str:
    if re.fullmatch(r"-?\d+", value):
        return str(int(value) + (0, 1, -1, 57)[variant])
    mark = value[-1] if value[-1] in "\"'" else ""
    body = value[: len(value) - len(mark)]
    if variant == 2 and mark and len(body) > 2 and "$" not in body:
        return f"{body[:-1]}{mark}"
    return f"{body}x{mark}"
