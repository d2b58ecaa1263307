"""A small language of template lines."""

CHANGES = {"upper": str.upper, "title": str.title, "strip": str.strip}


def filled(template, values):
    """The template with its fields replaced, read from left to right."""
    out, at = "", 0
    while at < len(template):
        end = template.find("}", at)
        if template[at] != "{" or end < 0:
            out, at = out + template[at], at + 1
            continue
        field, _, change = template[at + 1 : end].partition("|")
        name, colon, default = field.partition(":")
        if not name.replace("_", "a").isalnum():
            out, at = out + "{", at + 1
            continue
        if name in values:
            text = str(values[name])
        elif colon:
            text = default
        else:
            raise KeyError(name)
        out, at = out + CHANGES.get(change, str)(text), end + 1
    return out


def names(template):
    """The names in a template, each once, in order."""
    found = []
    for part in template.split("{")[1:]:
        name = ""
        for character in part:
            if not (character.isalnum() or character == "_"):
                break
            name += character
        if name and name not in found:
            found.append(name)
    return found
