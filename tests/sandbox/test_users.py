"""A uid for every sandbox: what the kernel counts per user, one cannot use up for another; files stay one owner's."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from selfplay.sandbox import Mount, World
from selfplay.sandbox.bubblewrap import BubblewrapBackend
from selfplay.sandbox.docker.users import Users
from selfplay.sandbox.identity import FIRST_SLOT, SLOTS, Identity, Slots

from .attacks import SMALL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.getuid() != 0, reason="an ordinary user has one uid"),
]
MORE_THAN_ANY = 0x7FFFFFFF  # systemd's table ends there


@pytest.fixture(scope="module")
def own() -> Iterator[BubblewrapBackend]:
    with contextlib.closing(BubblewrapBackend()) as made:
        yield made


@pytest.fixture
def world(tmp_path: Path, own: BubblewrapBackend) -> World:
    """A tree and a mount that belong to the sandboxes' common owner, with a file that only their owner may read."""
    for name in ("tree/folder", "environment"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("tree/file", "tree/folder/inner", "environment/private"):
        (tmp_path / name).write_text(name + "\n")
        (tmp_path / name).chmod(0o600)
    for path in tmp_path.rglob("*"):
        os.chown(path, *own.owner())
    return World(tree=(tmp_path / "tree",), mounts=(Mount(tmp_path / "environment", "/env"),))


def test_every_live_sandbox_has_a_uid_of_its_own(own: BubblewrapBackend, world: World) -> None:
    boxes = [own.start(world, SMALL) for _ in range(5)]
    try:
        uids = {box.hello.uid for box in boxes}
        assert len(uids) == 5 and all(FIRST_SLOT <= uid < MORE_THAN_ANY for uid in uids)
        assert {Path(f"/proc/{box.hello.pid}").stat().st_uid for box in boxes} <= {*uids, 0}  # 0: it is not dumpable
        assert own.enforcement()["users"] == "a uid for each sandbox"
    finally:
        for box in boxes:
            box.close()
    with contextlib.closing(own.start(world, SMALL)) as again:
        assert again.hello.uid in uids  # given back


def test_the_files_are_its_own_inside_and_their_owner_s_on_disk(own: BubblewrapBackend, world: World) -> None:
    tree = world.tree[0]
    before = {path: (path.stat().st_uid, path.stat().st_mode) for path in tree.rglob("*")}
    with own.open(world, SMALL) as sandbox:
        look = "cat file folder/inner /env/private; stat -c %U . file folder/inner /env /env/private"
        done = sandbox.run(look, timeout=10)
        assert done.text.split() == ["tree/file", "tree/folder/inner", "environment/private", *["sandbox"] * 5]
        change = "echo more >> file; chmod 755 folder/inner; mv folder moved; echo new > moved/new; touch /env/x"
        assert b"Read-only" in sandbox.run(change, timeout=10).stderr
        done = sandbox.run("cat file moved/new; stat -c %a moved/inner", timeout=10)
        assert done.stdout == b"tree/file\nmore\nnew\n755\n"
    assert {path: (path.stat().st_uid, path.stat().st_mode) for path in tree.rglob("*")} == before
    assert {uid for uid, _ in before.values()} == {own.owner()[0]}


@pytest.fixture
def overlay(tmp_path: Path) -> Iterator[Callable[[Path], Path]]:
    """A file system that cannot show owners otherwise than they are."""
    mounted: list[Path] = []

    def stacked(lower: Path) -> Path:
        for name in ("upper", "work", "merged"):
            (tmp_path / "overlay" / name).mkdir(parents=True)
        goal = tmp_path / "overlay" / "merged"
        options = f"lowerdir={lower},upperdir={tmp_path}/overlay/upper,workdir={tmp_path}/overlay/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(goal)], check=True)
        mounted.append(goal)
        return goal

    yield stacked
    for place in mounted:
        subprocess.run(["umount", str(place)], check=True)


def test_where_files_cannot_be_shown_so_all_share_one_uid_and_that_is_said(
    world: World, overlay: Callable[[Path], Path]
) -> None:
    with contextlib.closing(BubblewrapBackend()) as backend:
        stacked = World(tree=(overlay(world.tree[0]),), mounts=world.mounts)
        with contextlib.closing(backend.start(stacked, SMALL)) as sandbox:
            assert sandbox.hello.uid == backend.owner()[0]
            done = sandbox.run("echo more >> file; cat file /env/private", timeout=10)
            assert done.text == "tree/file\nmore\nenvironment/private\n"
        assert backend.enforcement()["users"] == "one uid for all sandboxes"


def test_containers_of_an_ordinary_user_have_uids_of_their_own() -> None:
    """Their user's own processes, and each other, lose nothing that is counted for a uid. An engine that gives
    containers other uids than asked for may lack these."""
    common = Identity(1000, 1000, drop=False)
    users = Users(SimpleNamespace(remaps_users=False), common)  # type: ignore[arg-type]
    taken = {users.take(World()) for _ in range(3)}
    assert len(taken) == 3 and min(taken) >= FIRST_SLOT
    for uid in taken:
        users.give_back(uid)
    shared = Users(SimpleNamespace(remaps_users=True), common)  # type: ignore[arg-type]
    assert shared.take(World()) == 1000 and not shared.apart


def test_more_live_sandboxes_than_uids_share_the_common_one() -> None:
    slots = Slots()
    taken = [slots.take() for _ in range(SLOTS)]
    assert len(set(taken)) == SLOTS and all(uid in slots for uid in taken)
    assert slots.take() == 0 and 0 not in slots
    slots.give_back(taken[7])
    assert slots.take() == taken[7]
