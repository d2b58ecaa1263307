"""Which of the new Python files of a prediction the program may load. A leftover script that nothing loads is no part
of the program, and is not judged as its code."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from selfplay.oracle.originals import OriginalFiles
from selfplay.plain_text import folders_above

_WORD = re.compile(r"\w++")
_COMPUTED = re.compile(
    r"import_module|__import__|resolve_name|run_path|run_module|spec_from|FileLoader|find_spec|load_module|EntryPoint"
    r"|entry_points|sys\.path|__path__|zipimport"
)
"""What loads a module whose name may be computed."""
_JOINED = re.compile(r"""['"]\s*+(?:(?:\\\n|\+|[frbuFRBU]{1,2})\s*+)?['"]""")
"""Between two texts that are one (`"import_" "module"`)."""
_FROM = re.compile(r"(?m)^[ \t]*+from[ \t]++(\w++)")
_IMPORT = re.compile(r"(?m)^[ \t]*+import[ \t]++([^\n#;]*+)")


def loaded_files(new: Mapping[str, str], changed: Mapping[str, str], original: OriginalFiles,
                 beside: Collection[str]) -> frozenset[str]:  # fmt: skip
    """Those of the `new` files that are in a package or `beside` files of the program, where what loads them may be
    written anywhere, or that a file of the original or of `changed`, the others of the prediction, may load."""
    inside = {path for path in new if is_in_program(path, original, beside)}
    named = loadable({**changed, **new}) & new.keys()
    left = new.keys() - inside - named
    sources = original.sources() if left else ()
    asked = {*_imported(original, sources or ())}
    return frozenset({*inside, *named, *(path for path in left if sources is None or _module(path) in asked)})


def is_in_program(path: str, original: OriginalFiles, beside: Collection[str]) -> bool:
    """Whether a folder above it is a package, or one of these."""
    return any(folder in beside or original.there(f"{folder}/__init__.py") for folder in folders_above(path))


def _imported(original: OriginalFiles, sources: Collection[str]) -> Iterator[str]:
    """The modules that files of the original import from outside of packages, also where that fails, as of an optional
    library: the first part of each name."""
    for path in sources:
        text = original.text(path) or ""
        yield from _FROM.findall(text)
        for names in _IMPORT.findall(text):
            yield from (name.strip().partition(".")[0].partition(" ")[0] for name in names.split(","))


def loadable(texts: Mapping[str, str]) -> frozenset[str]:
    """The files that another of them may load: one that holds all words of its name, or computes module names. Each
    text is read once, whatever the number of files."""
    words = {path: _WORD.findall(_module(path)) for path in texts}
    asked = {word for own in words.values() for word in own}
    named = defaultdict[str, set[str]](set)
    computing = {path for path, text in texts.items() if _COMPUTED.search(_JOINED.sub("", text))}
    for path, text in texts.items():
        for match in _WORD.finditer(text):
            if match[0] in asked and len(named[match[0]]) < 2:
                named[match[0]].add(path)
    return frozenset(
        path
        for path, own in words.items()
        if len(computing) > (path in computing) or all(named[word] - {path} for word in own)
    )


def _module(path: str) -> str:
    return PurePosixPath(path).parent.name if path.endswith("__init__.py") else PurePosixPath(path).stem
