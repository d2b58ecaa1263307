"""A tokenizer that one can read: one id a character."""


class Letters:
    """A tokenizer of one id a character; `<` and `>` begin and end a message."""

    name, eos = "letters", (ord(">"),)

    def render(self, messages, answer: bool) -> str:  # type: ignore[no-untyped-def]
        told = "".join(f"<{message['role'][0]}{message['content']}>" for message in messages)
        return told + ("<a" if answer else "")

    def encode(self, text: str, special: bool) -> list[int]:
        return [ord(letter) for letter in text]

    def decode(self, ids) -> str:  # type: ignore[no-untyped-def]
        return "".join(map(chr, ids))

    def is_special(self, token: int) -> bool:
        return token == ord(">")

    def names_special(self, text: str) -> bool:
        return False
