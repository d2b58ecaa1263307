"""A small language of template lines."""

import re


def filled(template, values):
    """The template with {name}, {name|upper} and {name:default} replaced."""

    def one(found):
        name, default, change = found["name"], found["default"], found["change"]
        if name not in values and default is None:
            raise KeyError(name)
        text = str(values.get(name, default))
        return {"upper": text.upper, "title": text.title, "strip": text.strip}.get(change, lambda: text)()

    return re.sub(r"\{(?P<name>\w+)(?::(?P<default>[^}|]*))?(?:\|(?P<change>\w+))?\}", one, template)


def names(template):
    """The names in a template, each once, in order."""
    return list(dict.fromkeys(re.findall(r"\{(\w+)", template)))
