"""What a prediction lacks of the original is what it has nowhere: not what it moved, renamed layout apart."""

from selfplay.oracle.new_code.changed_files import ChangedFiles, _too_costly
from selfplay.oracle.new_code.lacking_code import kept_expressions, kept_lines
from selfplay.oracle.new_code.needed_parts import lacking_parts

ORIGINAL = "def f(x):\n    if x > 9:\n        return 0\n    return x + 1\n\n\ndef g(x):\n    return x - 7\n"


def lacking(after: str) -> tuple[str, ...]:
    made = lacking_parts(ChangedFiles({"a.py": ""}, {"a.py": after}, {"a.py": ORIGINAL}))
    assert made is not None
    return made.words


def test_the_original_lacks_nothing() -> None:
    files = ChangedFiles({}, {"a.py": ORIGINAL}, {"a.py": ORIGINAL})
    assert lacking(ORIGINAL) == ()
    assert kept_lines(files).counts[".f", "    return x + 1"] == 1
    assert (".f", "x + 1") in kept_expressions(files)


def test_what_is_left_out_is_lacking() -> None:
    words = lacking(ORIGINAL.replace("    if x > 9:\n        return 0\n", ""))
    assert "without `if x > 9:`" in words and not any("x + 1" in one for one in words)


def test_what_another_function_has_is_lacking_and_what_a_new_one_has_is_not() -> None:
    rest = ORIGINAL.replace("    if x > 9:\n        return 0\n", "")
    assert lacking(rest.replace("    return x - 7", "    if x > 9:\n        return 0\n    return x - 7"))
    assert lacking(f"{rest}\n\ndef h(x):\n    if x > 9:\n        return 0\n") == ()


def test_what_stood_outside_of_functions_before_is_not_moved_there() -> None:
    original = f"x = 3\nif x > 9:\n    x = 0\n\n\n{ORIGINAL}"
    after = original.replace("    if x > 9:\n        return 0\n    return x + 1", "    return x + 1")
    made = lacking_parts(ChangedFiles({"a.py": ""}, {"a.py": after}, {"a.py": original}))
    assert made is not None and "without `if x > 9:`" in made.words


def test_how_far_a_line_is_indented_does_not_count() -> None:
    lines = "    if x > 9:\n        return 0\n"
    deeper = "    try:\n        if x > 9:\n            return 0\n    except KeyError:\n        raise\n"
    assert lacking(ORIGINAL.replace(lines, deeper)) == ()


def test_code_that_is_nested_too_deeply_is_not_read() -> None:
    """The grade says that the file is not read; what it has in the original's place is nothing."""
    deep = "def f(x):\n    return " + "-" * 500 + "1\n"
    assert [*_too_costly({"a.py": deep}, {"a.py": ORIGINAL})] == [
        "its a.py is not read: its code is nested more than 100 levels deep"
    ]
    assert lacking_parts(ChangedFiles({}, {"a.py": deep}, {"a.py": ORIGINAL})) is not None
