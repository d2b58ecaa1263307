"""Roman numerals."""

SIGNS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
         (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


DIGITS = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")


def written(number):
    """The numeral of a whole number from 1 to 3999, digit by digit."""
    if number < 1 or number > 3999:
        raise ValueError(f"{number} cannot be written")
    up = str.maketrans("IVX", "XLC"), str.maketrans("IVX", "CDM")
    thousands, hundreds, tens, ones = (int(one) for one in f"{number:04d}")
    return "M" * thousands + DIGITS[hundreds].translate(up[1]) + DIGITS[tens].translate(up[0]) + DIGITS[ones]


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
