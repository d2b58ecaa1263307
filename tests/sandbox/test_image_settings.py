"""Settings of an image that a stranger wrote, as the engine says them."""

import pytest

from selfplay.sandbox.docker.client import ImageUnusable
from selfplay.sandbox.docker.image_settings import named_folder, variables, volumes


def test_volumes_are_named_as_the_engine_names_them() -> None:
    asked = ("/data/.", "/./a", "/b//c", "//d", "/e/../f/", "/../g", "/h", "/h/")
    found = volumes({"Volumes": {place: {} for place in asked}}, "image")
    assert found == ("/a", "/b/c", "/d", "/data", "/f", "/g", "/h")
    assert volumes({"Volumes": None}, "image") == volumes({}, "image") == ()
    for place in ("data", "", ".", "/", "//", "/data/..", "C:\\data"):
        with pytest.raises(ImageUnusable, match="'image' declares a volume that is no folder"):
            volumes({"Volumes": {"/fine": {}, place: {}}}, "image")


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (["A=1", "=x"], "sets the variable '=x', which no program can be given"),
        (["A=\0"], r"sets the variable 'A=\\x00'"),
        ([f"V{number}=y" for number in range(60_000)], "sets 60000 variables"),
        (["A=" + "x" * 70_000], "sets 1 variable, "),
    ],
    ids=["no name", "a null", "many", "long"],
)
def test_variables_that_no_program_could_be_given_are_the_images_fault(entries: list[str], said: str) -> None:
    """The engine took a minute over sixty thousand, and then counted as gone: the machine's fault."""
    assert variables({"Env": ["A=1=2", "B=", "C", "A.b=x"]}, "image") == {"A": "1=2", "B": "", "A.b": "x"}
    assert variables({}, "image") == variables({"Env": None}, "image") == {}
    with pytest.raises(ImageUnusable, match=said):
        variables({"Env": entries}, "image")


@pytest.mark.parametrize("place", ["relative", "/app\0x", "/app\n", "/" + "a" * 70_000, "/app\ud800", "/a\x1b[31m"])
def test_a_folder_that_can_be_none_is_the_images_fault(place: str) -> None:
    assert named_folder("/app/ü b", "image") == "/app/ü b"
    with pytest.raises(ImageUnusable, match="the image 'image' names a folder by what is no absolute path"):
        named_folder(place, "image")
