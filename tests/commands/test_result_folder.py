"""The folder that `learn`, `sft` and `train` write: recognised when it is there, refused when it is another's."""

import errno
import json
from pathlib import Path

import pytest

from selfplay.commands.result_folder import finished, whole_folder
from selfplay.commands.sft import SUMMARY
from selfplay.errors import SelfplayError
from selfplay.train.errors import TrainError


def test_a_result_is_known_by_its_settings(tmp_path: Path) -> None:
    """A path and a tuple are read back as text and list; a setting that a later version added is another one."""
    summary, settings = tmp_path / "s.json", {"runs": (Path("a"),), "lr": 1e-5}
    assert finished(summary, settings, "run", TrainError) is None
    summary.write_text('{"settings": {"runs": ["a"], "lr": 1e-05, "gone": 1}, "loss": 2}')
    found = finished(summary, settings, "run", TrainError)
    assert found is not None and found["loss"] == 2
    with pytest.raises(TrainError, match=r"holds the result of another run, with lr 1e-05, not 0\.5"):
        finished(summary, settings | {"lr": 0.5}, "run", TrainError)
    with pytest.raises(TrainError, match="with new None, not 3"):
        finished(summary, settings | {"new": 3}, "run", TrainError)


def test_a_part_that_an_earlier_version_did_not_record_was_as_it_is_by_default(tmp_path: Path) -> None:
    summary, default = tmp_path / "s.json", {"recipe": {"lr": 1, "penalty": 0}}
    summary.write_text('{"settings": {"recipe": {"lr": 2}}}')
    assert finished(summary, {"recipe": {"lr": 2, "penalty": 0}}, "run", TrainError, default) is not None
    with pytest.raises(TrainError, match=r"with recipe .*'penalty': 0\}, not .*'penalty': 1"):
        finished(summary, {"recipe": {"lr": 2, "penalty": 1}}, "run", TrainError, default)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"settings": 3}', '{"settings": ["a"]}', "\udc80"])
def test_a_damaged_summary_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / SUMMARY).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(
        TrainError, match=rf"{tmp_path / SUMMARY} is damaged: it (is not|has no) .+\n  Give another --out\."
    ):
        finished(tmp_path / SUMMARY, {"lr": 1e-5}, "run", TrainError)


@pytest.mark.parametrize("error", [None, OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_folder_is_there_whole_or_not_at_all(error: BaseException | None, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    (tmp_path / "deep" / ".out.new" / "of a kill").mkdir(parents=True)

    def write() -> None:
        with whole_folder(out, SelfplayError, "The same command resumes.") as made:
            (made / "weights").write_text(json.dumps([path.name for path in made.iterdir()]))
            if error:
                raise error

    if error is None:
        write()
        assert (out / "weights").read_text() == "[]"
    else:
        with pytest.raises((SelfplayError, KeyboardInterrupt)) as raised:
            write()
        said = rf"{out} cannot be written: No space left on device\n  Is the disk full\? \d+\.\d GB are free\. The same"
        assert isinstance(error, KeyboardInterrupt) or raised.match(said)
    assert [path.name for path in out.parent.iterdir()] == ([] if error else ["out"])
