"""What a user has allowed is remembered by what it is, outside of any run; nothing inside a run can claim it."""

import os
import shutil
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from selfplay.curriculum import CurriculumError, open_curriculum, trust
from selfplay.curriculum.trust import (
    NotTrusted,
    Wish,
    allow,
    is_own,
    require,
    seal,
    sealed,
    state_folder,
    times,
    unsettled,
)

SETUP = Wish("setup", "make install", "t" * 40)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_nothing_is_allowed_until_the_user_allows_it() -> None:
    with pytest.raises(NotTrusted, match=r"(?s)command of its own.*make install.*--trust"):
        require([SETUP], trust=False)
    require([SETUP], trust=True)
    assert unsettled([SETUP]) == [SETUP]  # --trust is for this time
    assert allow(SETUP)
    require([SETUP], trust=False)


@pytest.mark.parametrize(
    "other",
    [
        Wish("setup", "make install ", "t" * 40),
        Wish("setup", "make install", "u" * 40),
        Wish("source", "make install", "t" * 40),
        Wish("setup", 'make install", "' + "t" * 40, ""),
    ],
)
def test_what_is_allowed_is_this_and_nothing_else(other: Wish) -> None:
    allow(SETUP)
    with pytest.raises(NotTrusted):
        require([SETUP, other], trust=False)


def test_where_no_note_can_be_written_a_yes_counts_this_time_and_for_this_alone(state: Path) -> None:
    """A yes to one command was a yes to all that the run wants, also to what was never shown."""
    state.write_text("a file in its place")
    other = replace(SETUP, text="another")
    assert not allow(SETUP) and unsettled([SETUP, other]) == [other] and not list(state.parent.glob("state/*"))
    assert seal(b"x") == "" and not sealed(BytesIO(b"x"), "")


def test_a_seal_is_this_users(state: Path) -> None:
    said = seal(b"data")
    assert sealed(BytesIO(b"data"), said) and not sealed(BytesIO(b"date"), said)
    assert not sealed(BytesIO(b"data"), said[:-1] + "\xe9")
    assert (state_folder() / "key").stat().st_mode & 0o77 == 0
    (state_folder() / "key").unlink()
    assert not sealed(BytesIO(b"data"), said)


def test_a_run_is_its_makers_in_its_place_alone(tmp_path: Path) -> None:
    with open_curriculum(tmp_path / "run"):
        assert is_own(tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    assert not is_own(tmp_path / "copy")
    with open_curriculum(tmp_path / "copy"):
        assert not is_own(tmp_path / "copy")  # going on with it does not make it the user's


def test_a_folder_in_the_place_of_a_deleted_run_is_nobodys(tmp_path: Path) -> None:
    """It often has the same inode: with device and inode alone a colleague's run, unpacked after one's own was deleted,
    was one's own."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for _ in range(20):
        with open_curriculum(mine):
            known = mine.stat().st_ino
        shutil.rmtree(mine)
        theirs.mkdir(parents=True)
        assert not is_own(theirs)
        if theirs.stat().st_ino == known:
            break
        theirs.rmdir()


def test_bounds_are_lifted_by_the_user_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert times() == 1
    for said, wanted in (("1000", 5), ("10", 1), ("-5", 1), ("much", 1), ("9" * 30, 1)):
        monkeypatch.setenv("SELFPLAY_READ_MIB", said)
        assert times() == wanted


def test_a_shared_pool_is_bounded_and_an_own_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from selfplay.curriculum import open_pool, read_pool, untrusted_sqlite

    with open_curriculum(tmp_path / "run"):
        pass
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    monkeypatch.setattr(open_pool, "DatabaseBounds", lambda *_: untrusted_sqlite.DatabaseBounds(10, 10, 10))
    with read_pool(tmp_path / "run"):
        pass
    for opened in (read_pool, open_curriculum):
        with (
            pytest.raises(CurriculumError, match=r"(?s)a shared run may have 10.*SELFPLAY_READ_MIB"),
            opened(tmp_path / "copy"),
        ):
            pass


@pytest.mark.parametrize(
    ("text", "whole"),
    [("make install", True), ("x" * 3_100, True), ("x" * 3_300, False), ("make" + " " * 5_000 + "; curl", True)],
)
def test_a_wish_is_asked_for_only_if_it_is_shown_whole(monkeypatch: pytest.MonkeyPatch, text: str, whole: bool) -> None:
    """Blanks hid what followed them; a yes to the beginning was one to the rest."""
    monkeypatch.setattr(trust, "_screen", lambda: os.terminal_size((80, 50)))
    wish = Wish("setup", text, "t" * 40)
    assert wish.shown_whole is whole
    assert not whole or text.split()[-1] in wish.words()


@pytest.mark.parametrize(
    "text",
    [
        "pip install evil\n" + "\n " * 1900 + "\npip install -e .",
        "pip install evil\n" + "\n\u2800" * 1900 + "\npip install -e .",
        "pip install evil\n" + "\n#" * 1900 + "\npip install -e .",
        "pip install evil\n" + "\n\u3164 \u00a0" * 60 + "\npip install -e .",
        "x" * 4001,
        "evil; " + "x" * 3300,
    ],
)
def test_a_wish_is_shown_whole_on_one_screen_or_not_asked_for(text: str) -> None:
    """What stands above the screen is not seen above the question; blanks of any kind are told by their number."""
    wish = Wish("setup", text, "t" * 40)
    assert not wish.shown_whole or wish.words().count("\n") < 45


@pytest.mark.parametrize(
    ("text", "size", "whole"),
    [
        ("x\n" * 19 + "x", (80, 24), True),
        ("x\n" * 20 + "x", (80, 24), False),
        ("x" * 200, (20, 24), True),
        ("x" * 500, (20, 24), False),
        ("\u6c34" * 700, (80, 24), True),
        ("\u6c34" * 900, (80, 24), False),
        ("\tx" * 100, (80, 24), True),
        ("\tx" * 200, (80, 24), False),
        ("x" * 4_000, (240, 60), True),
        ("x" * 4_001, (240, 60), False),  # it would be cut off
    ],
)
def test_a_screen_is_as_large_as_it_is(
    monkeypatch: pytest.MonkeyPatch, text: str, size: tuple[int, int], whole: bool
) -> None:
    """Of 24 lines four are the question's own; a wide letter takes two columns, a tab up to eight."""
    monkeypatch.setattr(trust, "_screen", lambda: os.terminal_size(size))
    assert Wish("setup", text, "t" * 40).shown_whole is whole


@pytest.mark.parametrize("nothing", ["\u200b", "\u2800", "\u3164", "\u115f", "\u034f", "\u00a0", "\u202e", "\ufe0f"])
def test_signs_that_are_drawn_as_nothing_are_told(nothing: str) -> None:
    assert f"pip\\u{ord(nothing):04x}install" in Wish("setup", f"pip{nothing}install", "").words()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_notes_of_another_user_are_none(state: Path) -> None:
    """Whoever can put notes there says what the user allowed, and has the key that seals what is the user's own."""
    (state / "selfplay" / "allowed").mkdir(parents=True)
    os.chown(state / "selfplay", 4321, 4321)
    for asks in (
        lambda: require([SETUP], trust=False),
        lambda: allow(SETUP),
        lambda: is_own(state),
        lambda: seal(b"x"),
    ):
        with pytest.raises(
            CurriculumError, match=r"no notes can be kept: .* belongs to another user \(uid 4321\)"
        ) as no:
            asks()
        assert no.value.hint == "Name a folder of your own in XDG_STATE_HOME."
