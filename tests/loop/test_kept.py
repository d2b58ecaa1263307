"""Which trajectories of a step stay."""

from selfplay.loop.kept import KeptTrajectories, unkept

STEP = (["i0", "i1", "i2", "i3"], ["s0", "s1"])
BOTH = {*STEP[0], *STEP[1]}


def test_by_default_all_stay() -> None:
    assert unkept(7, STEP, KeptTrajectories(), 0) == []


def test_some_of_each_role_of_some_steps_stay() -> None:
    """Three of the injector's four, both of the solver's; of step 2 of every second step, and nothing of step 3."""
    how = KeptTrajectories(every=2, of_role=3)
    gone = unkept(2, STEP, how, 0)
    assert len(gone) == 1 and gone[0] in STEP[0]
    assert set(unkept(3, STEP, how, 0)) == BOTH
    assert unkept(3, STEP, KeptTrajectories(every=3), 0) == []


def test_the_draw_is_the_seeds_whatever_the_order() -> None:
    one = KeptTrajectories(of_role=1)
    assert unkept(4, STEP, one, 1) == unkept(4, [[*reversed(names)] for names in STEP], one, 1)
    assert len({tuple(unkept(4, STEP, one, seed)) for seed in range(20)}) > 1
