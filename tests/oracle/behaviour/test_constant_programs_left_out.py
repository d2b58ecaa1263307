"""Programs of one answer that say nothing of the tests: the original itself, and a function that no probe runs."""

from selfplay.oracle.behaviour.constant_programs import _constant, giving

LINES = frozenset(range(1, 99))


def test_a_function_that_always_gives_the_answer_or_that_no_probe_runs_makes_no_program() -> None:
    """The first would be the original itself, the second gives the probes no answer: such programs counted as ones that
    nothing tells, and the bugs as weak."""
    text = """def refuse():
    \"\"\"Never.\"\"\"
    raise ValueError("no")


def f(x):
    if x:
        refuse()
    return x


def main():
    return f(input())
"""
    statement = giving('["raised", "ValueError"]')
    assert statement is not None
    every = [*_constant(text, [1, 6, 12], set(), statement, LINES)]
    assert len(every) == 2 and [*_constant(text, [1, 6, 12], set(), statement, {7, 8})] == every[:1]
    assert [*_constant(text, [1], set(), statement, LINES)] == []
