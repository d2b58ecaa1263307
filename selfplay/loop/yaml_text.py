"""Reads YAML into plain values: texts, numbers, true and false, null, lists, and tables with texts as names.

YAML knows more, which no setting takes: dates (`2026-01-01` stays a text), bytes, sets. Every fault of a text becomes a
`TrainingError` with its line.
"""

from typing import Any, ClassVar

import yaml

from selfplay.loop.errors import TrainingError
from selfplay.plain_text import well_formed

KINDS = {"int": "whole number of at most 64 bits", "float": "number", "bool": "true or false"}
LONGEST = 500
"""Characters of a number."""
MOST_NUMBER = 2**63
MOST_VALUES = 10_000
"""Values in one text, those that aliases repeat included."""
_OTHER = ("timestamp", "binary", "set", "omap", "pairs")


def _unknown(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    kind = node.tag.removeprefix("tag:yaml.org,2002:")
    raise yaml.constructor.ConstructorError(None, None, f"no setting has the tag {kind!r}", node.start_mark)


class _PlainValues(yaml.SafeLoader):
    """PyYAML's reader without the kinds that are not plain, and with a line for each value it cannot make."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML declares it of an instance
        first: [(tag, pattern) for tag, pattern in known if not tag.endswith(_OTHER)]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors: ClassVar = {
        tag: make if tag and not tag.endswith(_OTHER) else _unknown
        for tag, make in yaml.SafeLoader.yaml_constructors.items()
    }

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A table, whose names differ: the last of two would win in silence."""
        node = super().compose_mapping_node(anchor)
        names: set[str] = set()
        for name in (one for one, _ in node.value if isinstance(one, yaml.ScalarNode)):
            if name.value in names:
                raise yaml.constructor.ConstructorError(None, None, f"{name.value!r} is given twice", name.start_mark)
            names.add(name.value)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        kind = node.tag.rpartition(":")[2]
        try:
            if kind in ("int", "float") and len(node.value) > LONGEST:
                raise ValueError("too long")
            value = super().construct_object(node, deep)
            if isinstance(value, int) and abs(value) >= MOST_NUMBER:
                raise ValueError("too large")
            return value
        except (ValueError, LookupError, TypeError, OverflowError) as error:
            said = f"this is no {KINDS.get(kind, 'value')}"
            raise yaml.constructor.ConstructorError(None, None, said, node.start_mark) from error


def read_yaml(text: str, name: str) -> Any:
    """The plain value of a YAML text; `name`: of the text, for messages. Raises `TrainingError`."""
    try:
        value = yaml.load(text, Loader=_PlainValues)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise _no_yaml(name, f"{where}{error.problem or error.context}") from error
    except yaml.reader.ReaderError as error:
        raise _no_yaml(name, f"it holds a character that YAML forbids, at {error.position}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # an escape of no character
        raise _no_yaml(name, "it holds an escape of no character") from error
    except RecursionError as error:
        raise _no_yaml(name, "it is nested too deeply") from error
    _refuse_strange(value, name)
    return value


def _no_yaml(name: str, said: str) -> TrainingError:
    return TrainingError(f"{name} is not YAML: {' '.join(said.split())[:300]}", "See configs/ for examples.")


def _refuse_strange(value: Any, name: str) -> None:
    """Raises `TrainingError` for names that are no texts, halves of characters, and more values than settings have: a
    list may contain itself, or another list many times."""
    left, seen = [value], 0
    while left:
        one = left.pop()
        seen += 1
        if seen > MOST_VALUES:
            raise TrainingError(f"{name} holds more than {MOST_VALUES} values", "Is it a configuration?")
        if isinstance(one, dict):
            if strange := [key for key in one if not isinstance(key, str)]:
                raise TrainingError(f"{name}: {strange[0]!r} is not the name of a setting", "Names are texts.")
            left += one.values()
        elif isinstance(one, list):
            left += one
        elif isinstance(one, str) and one != well_formed(one):
            raise _no_yaml(name, "it holds half of a character")
