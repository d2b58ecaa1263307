"""An index of where a repository's names are used, built once for all its functions."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property

_WORD = re.compile(r"\w+")


class Index:
    """Over the sources and the parsed files of a repository, path by path."""

    def __init__(self, texts: Mapping[str, str], trees: Mapping[str, ast.Module]) -> None:
        self._texts, self._trees = texts, trees

    @cached_property
    def words(self) -> dict[str, Counter[str]]:
        """Path -> word -> how often it occurs in the file, including comments and strings."""
        return {path: Counter(_WORD.findall(text)) for path, text in self._texts.items()}

    @cached_property
    def files_naming(self) -> dict[str, set[str]]:
        """Word -> the files that contain it."""
        files: dict[str, set[str]] = defaultdict(set)
        for path, counts in self.words.items():
            for word in counts:
                files[word].add(path)
        return files

    @cached_property
    def modules(self) -> dict[str, str]:
        """Path without its suffix -> the file of that module; a folder's own file, or empty for one without."""
        found: dict[str, str] = {}
        for path in self._texts:
            place = path.removesuffix(".py").removesuffix("/__init__")
            found[place] = path
            while "/" in place:
                place = place.rpartition("/")[0]
                found.setdefault(place, "")
        return found

    @cached_property
    def modules_named(self) -> dict[str, list[str]]:
        """The last part of a module's name -> the places of such modules."""
        found: dict[str, list[str]] = defaultdict(list)
        for place in self.modules:
            found[place.rpartition("/")[2]].append(place)
        return found

    @cached_property
    def calls(self) -> dict[str, dict[str, list[ast.Call]]]:
        """Path -> name -> its calls by that plain name."""
        return {path: _calls(tree) for path, tree in self._trees.items()}

    @cached_property
    def classes(self) -> dict[str, list[ast.ClassDef]]:
        """Name -> the classes of that name at the top of some file."""
        found: dict[str, list[ast.ClassDef]] = defaultdict(list)
        for tree in self._trees.values():
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(node)
        return found

    @cached_property
    def owners(self) -> dict[int, ast.ClassDef]:
        """id of a method -> the top-level class whose body contains it."""
        return {id(one): node for nodes in self.classes.values() for node in nodes for one in node.body}

    @cached_property
    def at_top(self) -> frozenset[int]:
        """ids of the statements at the top of some file."""
        return frozenset(id(one) for tree in self._trees.values() for one in tree.body)


def _calls(tree: ast.Module) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found[node.func.id].append(node)
    return found
