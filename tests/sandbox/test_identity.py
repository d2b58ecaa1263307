"""Whose uid a sandbox has on the host."""

import os
import pwd
from types import SimpleNamespace

import pytest

from selfplay.sandbox import IsolationUnavailable
from selfplay.sandbox.identity import Identity, identity


def accounts(monkeypatch: pytest.MonkeyPatch, *uids: int) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwall", lambda: [SimpleNamespace(pw_uid=uid) for uid in uids])


def test_root_steps_down_to_the_first_uid_without_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts(monkeypatch, 0, 1000, 64201)
    assert identity() == Identity(64200, 64200, drop=True)
    accounts(monkeypatch, 0, 64200, 64201, 64203)
    assert identity() == Identity(64202, 64202, drop=True)


def test_a_uid_range_that_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts(monkeypatch, *range(64200, 64999))  # all but the last
    assert identity().uid == 64999
    accounts(monkeypatch, *range(64200, 65000))
    with pytest.raises(IsolationUnavailable, match=r"every uid from 64200 to 64999 belongs(.|\n)*Free one of them"):
        identity()


def test_an_ordinary_user_stays_who_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts(monkeypatch, *range(64200, 65000))
    for name, number in (("getuid", 1234), ("geteuid", 1234), ("getgid", 5678)):
        monkeypatch.setattr(os, name, lambda number=number: number)
    assert identity() == Identity(1234, 5678, drop=False)
