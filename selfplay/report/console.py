"""The console that pages are printed on: text in them may be a stranger's, wherever it stands."""

from typing import Any

from rich.console import Console
from rich.text import Text

from selfplay.plain_text import printable


class SafeConsole(Console):
    """Plain text in a page is no markup, and controls no terminal. Rich turns every plain text of a page into one with
    a style here: cells, titles, rules. Pages style what they style as `Text`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)
