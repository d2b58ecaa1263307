"""Sources of a stranger: what is parsed, and what would take too much for its length."""

import ast
import copy
import re
import subprocess
import sys

import pytest

from selfplay.python_source import MOST_KEPT, MOST_TREES, HeavySource, shared_tree, symbol_table, syntax_tree


@pytest.mark.parametrize(
    "text",
    [
        "import " + "a." * 100_000 + "a",
        "import " + "a . " * 100_000 + "a",
        "from ." + "a." * 100_000 + "a import b",
        "import é" + ".é" * 100_000,
        "if x:\n    import " + "a.\\\n" * 100_000 + "a\n",
        "import " + "a.\\\r" * 20_000 + "a",
        "import " + "a\u0301." * 20_000 + "a",
        "x = 1; import " + "a." * 100_000 + "a as b",
    ],
    ids=["plain", "blanks", "relative", "accents", "lines", "old line ends", "marks", "second"],
)
def test_an_import_of_many_parts_is_refused_before_it_takes_its_square_in_memory(text: str) -> None:
    """100,000 parts took 10 GB."""
    for read in (syntax_tree, symbol_table, lambda text: syntax_tree(text.encode())):
        with pytest.raises(SyntaxError, match="a name has more than 200 parts"):
            read(text)


@pytest.mark.parametrize(
    "encoding", ["utf-7", "unicode_escape", "raw_unicode_escape", "cp037", "hz", "iso2022_jp", "punycode", "utf-16"]
)
def test_an_encoding_in_which_ascii_is_not_ascii_is_not_read(encoding: str) -> None:
    """With utf-7 a dot may be `+AC4-`: 90 kB of such a name took 300 MB."""
    with pytest.raises(SyntaxError, match=r"the encoding .* is not read|unknown encoding|encoding problem"):
        syntax_tree(f"# coding: {encoding}\nimport a+AC4-b\n".encode())


@pytest.mark.parametrize("before", ["\r", "\f\r", "# one\r", "\r\n", " \r"], ids=repr)
def test_the_encoding_is_looked_for_where_python_looks(before: str) -> None:
    """A lone CR ends a line for Python's parser, and none for `tokenize.detect_encoding`."""
    source = f"{before}# coding: utf-7\rimport a+AC4-b\r".encode()
    assert ast.parse(source).body[0].names[0].name == "a.b"  # type: ignore[attr-defined]
    with pytest.raises(SyntaxError, match="the encoding utf-7 is not read"):
        syntax_tree(source)


@pytest.mark.parametrize(
    ("encoding", "letter"),
    [("gbk", "\u4e02"), ("gb18030", "\u4e02"), ("cp932", "\u30bd"), ("big5", "\u529f"), ("cp949", "\uac02")],
)
def test_a_letter_whose_second_byte_is_a_sign_of_ascii_is_part_of_a_name(encoding: str, letter: str) -> None:
    names = ".".join([letter] * 300)
    with pytest.raises(SyntaxError, match="a name has more than 200 parts"):
        syntax_tree(f"# coding: {encoding}\nimport {names}\n".encode(encoding))
    assert len(syntax_tree(f"# coding: {encoding}\n{letter} = 1\n".encode(encoding)).body) == 1


@pytest.mark.parametrize("encoding", ["mac_arabic", "mac_farsi"])
def test_a_dot_of_another_byte_is_a_dot(encoding: str) -> None:
    with pytest.raises(SyntaxError, match="a name has more than 200 parts"):
        syntax_tree(f"# coding: {encoding}\nimport ".encode() + b"\xae".join([b"a"] * 300) + b"\n")


@pytest.mark.parametrize(
    "number",
    ["0x" + "f" * 6000, "0o" + "7" * 6000, "0b" + "1" * 20_000, "0X" + "_f" * 4000],
    ids=["hex", "octal", "binary", "gaps"],
)
def test_a_number_that_python_reads_and_cannot_write_is_refused(number: str) -> None:
    """Whatever writes the tree as text raised a `ValueError`: a grading ended with it, as nobody's fault."""
    with pytest.raises(ValueError, match="Exceeds the limit"):
        ast.unparse(ast.parse(f"x = {number}"))
    with pytest.raises(SyntaxError, match="a number has more than 14000 binary digits"):
        syntax_tree(f"x = {number}")
    assert syntax_tree(f"x = '{number}'  # {number}")


def test_a_source_that_takes_for_ever_or_all_memory_is_refused() -> None:
    """600 kB of f-string took 28 s in one step of Python, 2 MB of `a;` took 1.8 GB."""
    for many, long in ((40_000, 0), (29_900, 900_000), (3_000, 900_000)):
        with pytest.raises(SyntaxError, match="has f-strings and many braces"):
            syntax_tree("x = f'" + "a" * long + "{a}" * many + "'\n")
    assert syntax_tree("x = f'" + "a" * 100_000 + "{a}" * 5_000 + "'\n")
    assert len(syntax_tree("x = [" + "{}," * 40_000 + "]\n").body) == 1
    with pytest.raises(SyntaxError, match="more than 1048576 characters"):
        syntax_tree("a;" * 600_000)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["lambda: 0", "[0 for b in ()]", "[(lambda: 0) for b in ()]"])
def test_scopes_that_are_given_too_many_names_are_refused(scope: str) -> None:
    """The compiler copies the names of a function for each scope in it: 205 kB took 17 s."""
    for names, scopes in ((20_000, 10_000), (4_000, 4_000)):
        text = f"def f():\n {'='.join(f'a{n}' for n in range(names))}=0\n return [{f'{scope},' * scopes}]\n"
        with pytest.raises(SyntaxError, match="inner scopes are given more than"):
            symbol_table(text)
    assert symbol_table(f"def f():\n {'=0;'.join(f'a{n}' for n in range(300))}=0\n return [{f'{scope},' * 300}]\n")


GROWING = (
    "a\n",
    "a;",
    "a,",
    "()\n",
    "with a:a\n",
    "lambda:0,",
    "try:a\nexcept:a\n",
    "a<a,",
    "await a\n",
    "a=a\n",
)
"""Sources whose trees take the most memory for their length, of 35 forms that were measured."""
MEASURED = """
import resource, sys
from selfplay.python_source import HeavySource, MOST_TOKENS, syntax_tree
part = sys.argv[1]
for times in (MOST_TOKENS + 1, MOST_TOKENS // 8):
    text = part * times if part[-1] != "," else f"({part * times})"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        tree = syntax_tree(text)
    except SyntaxError as error:
        print(error.msg)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / times)
"""


@pytest.mark.slow
@pytest.mark.parametrize("part", GROWING)
def test_a_tree_takes_memory_by_the_words_and_signs_of_its_source(part: str) -> None:
    """1 MiB of `a` on lines took 900 MB. Beyond the bound nothing is parsed; below it each word takes 1 kB at most."""
    said = subprocess.run([sys.executable, "-c", MEASURED, part], capture_output=True, text=True, check=True).stdout
    refused, _, parsed = said.splitlines()
    assert "more than" in refused
    tokens = len(re.findall(r"\w+|[^\w ]", part))
    assert float(parsed) / tokens < 1100


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "euc-jp", "koi8-r", "shift_jis", "gb18030"])
def test_other_encodings_are_read(encoding: str) -> None:
    assert len(syntax_tree(f"# coding: {encoding}\nx = 1\n".encode()).body) == 1


@pytest.mark.parametrize(
    "text", ["x = 0." + "9" * 5000, "'" + "." * 5000 + "'", "import a" + ".b" * 100, "# a.b" * 300]
)
def test_other_texts_with_many_dots_are_parsed(text: str) -> None:
    syntax_tree(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(a := " * 90 + "[" + "x," * 12_000 + "]" + ")" * 90,
        "".join(" " * level + "try:\n" for level in range(90)) + " " * 90 + "x = [" + "x," * 9_000 + "]\n"
        + "".join(" " * level + "finally: pass\n" for level in reversed(range(90))),
        "assert (" + ", ".join(["-" * 99 + "99"] * 300) + ")",
        "def f(a: str = " + "+".join(["''"] * 400) + "):\n    return a\n",
        "if a: b\n" + "elif a: b\n" * 120,
    ],
)  # fmt: skip
def test_a_tree_that_is_deep_is_refused(text: str) -> None:
    """What looks at all inside a node at each of its levels took 36 s for 550 kB; a sum of 400 texts, which Python
    parses and cannot write, ended a run."""
    with pytest.raises(HeavySource, match=r"nested (more than 100|40) levels deep"):
        syntax_tree(text)


def test_names_that_repeat_the_long_ones_around_them_are_refused() -> None:
    """Half a megabyte of functions in a class of a long name took 4.8 GB as dotted names."""
    methods = "".join(f" def f{number}(): 0\n" for number in range(600))
    with pytest.raises(SyntaxError, match="the names of its functions have more than"):
        syntax_tree(f"class {'A' * 20_000}:\n{methods}")
    assert len(syntax_tree(f"class {'A' * 200}:\n{methods}").body[0].body) == 600


@pytest.mark.parametrize(
    "text",
    [
        " + ".join(["'some words'"] * 90),
        "x" + ".then(1)" * 45,
        "x" + "[0]" * 90,
        "-" * 90 + "1",
    ],
)
def test_a_long_sum_and_a_long_chain_are_parsed_copied_and_written(text: str) -> None:
    tree = syntax_tree(f"x = {text}\n")
    assert ast.dump(syntax_tree(ast.unparse(copy.deepcopy(tree)))) == ast.dump(tree)


@pytest.mark.slow
def test_a_tree_is_kept_while_the_kept_sources_are_short() -> None:
    one, other = ("x = 1\n" * (MOST_KEPT // 12 - 10) + f"y = {number}\n" for number in range(2))
    first = shared_tree(one)
    assert shared_tree(one) is first and ast.dump(first) == ast.dump(syntax_tree(one))
    shared_tree(other)
    assert shared_tree(one) is first  # both fit
    shared_tree("z = 1\n" * (MOST_KEPT // 12))
    assert shared_tree(one) is first  # `other` went: it was used longest ago
    longest = "x = 1\n" * (MOST_KEPT // 6 + 1)
    assert shared_tree(longest) is not shared_tree(longest)
    with pytest.raises(SyntaxError):
        shared_tree("x =")


def test_of_many_short_sources_the_last_are_kept() -> None:
    first = shared_tree("first = 1\n")
    for number in range(MOST_TREES):
        shared_tree(f"x{number} = 1\n")
    assert shared_tree("first = 1\n") is not first
