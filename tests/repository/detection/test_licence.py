"""What a tree says of its licence: in its metadata, in a file, or nowhere."""

import time
from pathlib import Path

import pytest

from selfplay.repository.detection.licence import licence_of

MIT = "Permission is hereby granted, free of charge, to any person\n\nThe software is provided 'as is'"
BSD = "Redistribution and use in source and binary forms ... to endorse or promote products"


@pytest.mark.parametrize(
    ("files", "licence"),
    [
        ({}, None),
        ({"LICENSE": MIT}, "MIT"),
        ({"COPYING.txt": BSD}, "BSD-3-Clause"),
        ({"LICENSE": "All rights reserved."}, None),
        ({"pyproject.toml": '[project]\nlicense = "MPL-2.0"', "LICENSE": MIT}, "MPL-2.0"),
        ({"pyproject.toml": '[project]\nlicense = {text = "MIT License"}'}, "MIT"),
        ({"pyproject.toml": '[tool.poetry]\nlicense = "ISC"'}, "ISC"),
        ({"pyproject.toml": '[project]\nlicense = {file = "LICENSE"}', "LICENSE": MIT}, "MIT"),
        ({"pyproject.toml": "[[[", "setup.cfg": "[metadata]\nlicense = BSD-2-Clause"}, "BSD-2-Clause"),
        ({"setup.cfg": "[metadata\n", "package.json": '{"license": "0BSD"}'}, "0BSD"),
        ({"package.json": "[" * 100_000}, None),
        ({"PKG-INFO": "Name: x\nLicense-Expression: Apache-2.0\n"}, "Apache-2.0"),
        ({"PKG-INFO": "Name: x\nLicense: UNKNOWN\n"}, None),
        ({"setup.cfg": "[metadata]\nlicense = | rm -rf\x1b[31m"}, None),
    ],
)
def test_the_licence_of_a_tree(tmp_path: Path, files: dict[str, str], licence: str | None) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert licence_of(tmp_path) == licence


def test_a_classifier_names_one(tmp_path: Path) -> None:
    text = '[project]\nclassifiers = ["Topic :: X", "License :: OSI Approved :: Apache Software License"]'
    (tmp_path / "pyproject.toml").write_text(text)
    assert licence_of(tmp_path) == "Apache-2.0"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "there").write_text(MIT)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "LICENSE").symlink_to(tmp_path / "there")
    assert licence_of(tmp_path / "tree") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [("pyproject.toml", "a" + ".a" * 200_000 + " = 1\n"), ("setup.cfg", "[metadata]\n" + "x\n" * 200_000)],
)
def test_a_hostile_file_costs_little(tmp_path: Path, name: str, text: str) -> None:
    """With the standard library's readers these took over a minute."""
    (tmp_path / name).write_text(text)
    began = time.process_time()
    assert licence_of(tmp_path) is None and time.process_time() - began < 2
