"""What a tape records, spread out only at the end."""

from selfplay.agent.model import Sample
from selfplay.agent.tape import Tape


def sampled(prompt: list[int], *ids: int, version: int = 0) -> Sample:
    return Sample(ids, tuple(-id / 8 for id in ids), False, prompt, (version, version))


def test_masks_and_log_probabilities_stand_beside_their_ids() -> None:
    tape = Tape("solver")
    tape.add([1, 2])
    tape.sampled(sampled([1, 2], 4, 8))
    tape.add([3])
    tape.sampled(sampled([1, 2, 4, 8, 3, 5], version=2))  # 5 was given by the engine; an empty answer
    tape.sampled(sampled([1, 2, 4, 8, 3, 5], 16, version=1))
    (segment,) = tape.segments()
    assert segment.ids.tolist() == [1, 2, 4, 8, 3, 5, 16]
    assert segment.mask.tolist() == [0, 0, 1, 1, 0, 0, 1]
    assert segment.logprobs.tolist() == [0.0, 0.0, -0.5, -1.0, 0.0, 0.0, -2.0]
    assert segment.versions == (0, 2) and tape.drift == 0
    assert [(one.start, one.end, one.versions) for one in segment.stretches] == [
        (2, 4, (0, 0)),
        (6, 6, (2, 2)),
        (6, 7, (1, 1)),
    ]
    assert tape.segments() == (segment,)  # asked again, the same


def test_what_an_engine_was_not_given_again_is_drift() -> None:
    tape = Tape("solver")
    tape.sampled(sampled([1, 2, 3], 4))
    tape.sampled(sampled([1, 9], 5))
    first, second = tape.segments()
    assert tape.drift == 3  # 2, 3 and 4
    assert (first.ids.tolist(), second.ids.tolist()) == ([1, 2, 3, 4], [1, 9, 5])
    assert second.mask.tolist() == [0, 0, 1] and second.logprobs.tolist() == [0.0, 0.0, -0.625]


def test_nothing_sampled_is_nothing_to_learn() -> None:
    tape = Tape("solver")
    tape.add([1, 2])
    assert tape.segments() == ()
