"""Roman numerals."""

SIGNS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
         (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def written(number):
    """The numeral of a whole number from 1 to 3999."""
    if not 0 < number < 4000:
        raise ValueError(f"no numeral for {number}")
    out = []
    for worth, sign in SIGNS:
        times, number = divmod(number, worth)
        out.append(sign * times)
    return "".join(out)


class Reader:
    """Reads numerals."""

    def __init__(self, strict=False):
        self.strict = strict

    def read(self, text):
        total, rest = 0, text.strip().upper()
        for worth, sign in SIGNS:
            while rest.startswith(sign):
                total += worth
                rest = rest[len(sign):]
        if rest:
            raise ValueError(f"{text!r} is no numeral")
        if self.strict and written(total) != text.strip().upper():
            raise ValueError(f"{text!r} is not in normal form")
        return total
