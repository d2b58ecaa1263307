"""Full assurance takes layers that could each have shown something."""

from selfplay.oracle.assurance import NEEDED, weaknesses
from selfplay.oracle.layers import Layer, caught, passed, unavailable

SEEN = [passed(name, "seen") for name in NEEDED]


def test_all_needed_layers_that_looked_are_full_assurance() -> None:
    assert weaknesses(SEEN) == ()
    assert weaknesses([*SEEN, unavailable("names", "no copies")]) == ()  # of a layer that is not needed
    assert weaknesses([*SEEN[1:], caught(NEEDED[0], "it looked, too")]) == ()


def test_what_did_not_run_or_could_not_look_is_a_weakness() -> None:
    canaries, witness, behaviour, *doubts = NEEDED
    found = [unavailable(witness, "no pytest"), Layer(behaviour, "skipped", "was not requested"),
             *(passed(name, "seen") for name in doubts)]  # fmt: skip
    assert weaknesses(found) == ("canaries: did not run", "witness: no pytest", "behaviour: was not requested")
    assert canaries not in {layer.name for layer in found}
