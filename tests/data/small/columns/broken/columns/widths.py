"""Text in columns."""


def wrapped(text, width):
    """Lines of at most `width` characters, broken between words."""
    lines, line = [], ""
    for word in text.split():
        while len(word) > width:
            lines += [line] if line else []
            lines.append(word[:width])
            line, word = "", word[width:]
        if line and len(line) + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return lines + ([line] if line else [])


def table(rows, gap=1):
    """Rows in columns as wide as their widest cell."""
    widths = [min(len(cell) for cell in column) for column in zip(*rows)]
    padded = (" " * gap).join
    return [padded(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
