"""Text in columns."""

import textwrap


def wrapped(text, width):
    """Lines of at most `width` characters."""
    return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def table(rows, gap=1):
    """Rows in columns as wide as their widest cell."""
    rows = list(rows)
    count = min((len(row) for row in rows), default=0)
    widths = [0] * count
    for row in rows:
        for at in range(count):
            widths[at] = max(widths[at], len(row[at]))
    out = []
    for row in rows:
        line = ""
        for at in range(count):
            line += row[at] + " " * (widths[at] - len(row[at]) + gap)
        out.append(line.rstrip())
    return out
