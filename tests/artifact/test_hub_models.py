"""A hub's model becomes a folder, which is looked at like any other."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.artifact.hub_models import OTHER_FORMS, SETTINGS, model_folder
from selfplay.artifact.reading import UntrustedDataError


def hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A library that fetches into `folder`, and what it is asked for."""
    asked: list[dict[str, Any]] = []

    def snapshot_download(name: str, **options: Any) -> str:
        asked.append({"name": name, **options})
        return str(folder)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    return asked


def test_a_folder_is_itself_and_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = hub(tmp_path / "fetched", monkeypatch)
    assert model_folder(tmp_path, weights=True) == tmp_path and model_folder(str(tmp_path), weights=False) == tmp_path
    assert not asked


def test_of_a_hubs_model_its_settings_are_fetched_or_its_weights_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ignored = hub(tmp_path, monkeypatch), list(OTHER_FORMS)
    monkeypatch.chdir(tmp_path)
    assert model_folder("some/model", weights=False) == tmp_path
    (tmp_path / "model.safetensors").write_text("x")
    assert model_folder("some/model", weights=True) == tmp_path
    (tmp_path / "model.safetensors").unlink()  # an older model
    assert model_folder("some/model", weights=True) == tmp_path
    safe, pickled = [*SETTINGS, "*.safetensors"], [*SETTINGS, "pytorch_model*.bin"]
    assert asked == [
        {"name": "some/model", "allow_patterns": files, "ignore_patterns": ignored}
        for files in ([*SETTINGS], safe, safe, pickled)
    ]


def test_without_the_library_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UntrustedDataError, match="some/model is no folder, and there is no library"):
        model_folder("some/model", weights=False)
