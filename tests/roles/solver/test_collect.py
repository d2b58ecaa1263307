"""What is stored of the files that a solver leaves."""

from selfplay.roles.solver.collect import MOST_PATHS, first_paths


def test_any_number_of_files_left_out_is_told_within_bounds() -> None:
    """26,000 ignored files with long names made the attempt's own trajectory too large to be read again."""
    names = [f"junk/{'é' * 4000}{number}" for number in range(26_000)]
    told = first_paths(names)
    assert len(told) == MOST_PATHS + 1 and told[-1] == f"and {26_000 - MOST_PATHS} more"
    assert sum(len(name.encode("ascii", "backslashreplace")) for name in told) < 1_000_000
    assert first_paths(["a", "b"]) == ("a", "b")
