from selfplay.patches.lines import split_lines
from selfplay.scripted.edits.cuts import Cut, apply_cuts, change, with_comments


def test_cuts_replace_lines_and_keep_all_others_byte_for_byte() -> None:
    text = "a = 1\n\tb\x0c = 2\nc = 'é\u2028'\nd = 4"
    assert apply_cuts(text, [Cut(2, 2, ("B = 2",))]) == "a = 1\nB = 2\nc = 'é\u2028'\nd = 4"
    assert apply_cuts(text, [Cut(1, 2), Cut(4, 4, ("d = 5",))]) == "c = 'é\u2028'\nd = 5\n"
    assert apply_cuts(text, []) == text


def test_an_insertion_and_a_cut_at_one_line_do_not_eat_each_other() -> None:
    cuts = [Cut(2, 1, ("new",)), Cut(2, 2, ("B",))]
    assert apply_cuts("a\nb\nc\n", cuts) == apply_cuts("a\nb\nc\n", cuts[::-1]) == "a\nnew\nB\nc\n"


def test_new_lines_end_as_the_lines_of_the_file_do() -> None:
    assert apply_cuts("a\r\nb\r\nc\r\n", [Cut(2, 2, ("B", "kept\r"))]) == "a\r\nB\r\nkept\r\nc\r\n"
    assert apply_cuts("a\nb\r\nc\n", [Cut(2, 2, ("B",))]) == "a\nB\nc\n"


def test_sizes_and_overlaps() -> None:
    assert Cut(3, 5, ("x",)).size == 4  # three lines go, one comes
    assert Cut(3, 2, ("x", "y")).size == 2  # nothing goes
    assert Cut(3, 5).overlaps(Cut(5, 9)) and not Cut(3, 5).overlaps(Cut(6, 9))


def test_a_change_that_does_not_parse_or_changes_nothing_is_none() -> None:
    text = "def f():\n    return 1  # one\n"
    assert change("f.py", text, [Cut(2, 2)]) is None
    assert change("f.py", text, [Cut(2, 2, ("    return 1",))]) is None
    made = change("f.py", text, [Cut(2, 2, ("    return 2",), "changed it")])
    assert made is not None and (made.after, made.size, made.what) == ("def f():\n    return 2\n", 2, "changed it")


def test_a_nul_byte_and_endless_nesting_make_no_change() -> None:
    assert change("f.py", "a = 1\n", [Cut(1, 1, ("a = '\0'",))]) is None
    assert change("f.py", "a = 1\n", [Cut(1, 1, ("a = " + "(" * 5000 + ")" * 5000,))]) is None


def test_comments_above_go_along_at_their_indent_only() -> None:
    lines = split_lines("x = 1\n# of the class\nclass A:\n    # one\n    # two\n    y = 1\n")
    assert with_comments(lines, 6) == 4
    assert with_comments(lines, 3) == 2
    assert with_comments(lines, 1) == 1
