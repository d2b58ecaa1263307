"""Properties of the patches room against real git: random trees, diffed, split, reapplied, reversed."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from real_git import RELAXED, Tree, apply, diff, git_can, trees

from selfplay.patches import join, parse, reverse, touched_paths, units


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path


@pytest.mark.slow
@RELAXED
@given(old=trees, new=trees, quoted=st.booleans())
def test_parse_loses_nothing(base: Path, old: Tree, new: Tree, quoted: bool) -> None:
    text = diff(old, new, base) if quoted else diff(old, new, base, "--no-renames")
    patches = parse(text)
    assert join(patches) == text
    changed = {path for path in {*old, *new} if old.get(path) != new.get(path)}
    assert set(touched_paths(text)) == changed


@pytest.mark.slow
@RELAXED
@given(old=trees, new=trees)
def test_reverse_returns_the_original_tree(base: Path, old: Tree, new: Tree) -> None:
    text = diff(old, new, base)
    assume(git_can(old, text, base) and git_can(new, text, base, "-R"))
    assert apply(old, text, base) == new
    assert apply(new, reverse(text), base) == old
    assert reverse(reverse(text)) == text


@pytest.mark.slow
@RELAXED
@given(old=trees, new=trees, data=st.data())
def test_a_unit_left_out_leaves_its_files_alone(base: Path, old: Tree, new: Tree, data: st.DataObject) -> None:
    text = diff(old, new, base)
    assume(git_can(old, text, base))
    groups = units(text)
    assume(groups)
    left_out = data.draw(st.sampled_from(groups))
    spared = {path for patch in left_out for path in patch.paths}
    result = apply(old, join(patch for group in groups if group is not left_out for patch in group), base)
    expected = {path: file for path, file in new.items() if path not in spared}
    expected |= {path: file for path, file in old.items() if path in spared}
    assert result == expected
