"""The lines of a text, and a cursor over those of a diff."""

from selfplay.patches.model import PatchError
from selfplay.plain_text import shown


def split_lines(text: str) -> list[str]:
    """Lines with their ends, counted as git and Python's parser count them (a form feed or U+2028 ends no line).

    The two differ on a lone CR, which ends a line for the parser alone.
    """
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def no_part(text: str) -> str:
    """Says of a text that no git diff holds it; bytes that are not UTF-8 are spelled out."""
    return f"'{shown(text[:80])}' is not part of a git diff"


class Lines:
    """A cursor over the lines of a diff; its errors name the position."""

    def __init__(self, text: str) -> None:
        if text and not text.endswith("\n"):
            raise PatchError("the diff does not end with a line end", "It was cut off, or an editor stripped it.")
        self.lines = text.split("\n")[:-1]
        self.at = 0

    def peek(self) -> str | None:
        return self.lines[self.at] if self.at < len(self.lines) else None

    def take(self) -> str:
        self.at += 1
        return self.lines[self.at - 1]

    def starts(self, prefix: str | tuple[str, ...], after: int = 0) -> bool:
        """Whether the next line, or the one `after` it, starts with `prefix`."""
        at = self.at + after
        return at < len(self.lines) and self.lines[at].startswith(prefix)

    def text(self, start: int) -> str:
        """The text taken since line `start`."""
        return "".join(f"{line}\n" for line in self.lines[start : self.at])

    def foreign(self, line: str, hint: str) -> PatchError:
        """The error for a line that no git diff holds."""
        return self.error(no_part(line), hint)

    def error(self, what: str, hint: str = "") -> PatchError:
        return PatchError(f"line {self.at} of the diff: {what}", hint)
