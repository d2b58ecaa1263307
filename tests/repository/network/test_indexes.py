from pathlib import Path

import pytest

from selfplay.repository.errors import SourceError
from selfplay.repository.network.indexes import CA_INSIDE, Indexes, configured, for_sandbox
from selfplay.sandbox import Mount


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Indexes()),
        ({"PIP_INDEX_URL": "https://a/simple"}, Indexes("https://a/simple")),
        ({"UV_INDEX_URL": "https://u/", "PIP_INDEX_URL": "https://a/"}, Indexes("https://u/")),
        ({"UV_DEFAULT_INDEX": "mine=https://d/"}, Indexes("https://d/")),
        ({"PIP_EXTRA_INDEX_URL": "https://a/ https://b/"}, Indexes(None, ("https://a/", "https://b/"))),
        ({"PIP_FIND_LINKS": "/wheels"}, Indexes(None, (), ("/wheels",))),
    ],
)
def test_variables_of_uv_and_pip(environ: dict[str, str], expected: Indexes) -> None:
    assert configured(environ) == expected


def test_the_sandbox_sees_local_indexes_and_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mirror" / "simple").mkdir(parents=True)
    bundle = tmp_path / "ca.pem"
    bundle.write_text("certificates")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy")
    url = f"file://{tmp_path}/mirror/simple"
    env, mounts = for_sandbox(Indexes(None, (url,)))
    assert env["UV_INDEX"] == env["PIP_EXTRA_INDEX_URL"] == url and env["SSL_CERT_FILE"] == CA_INSIDE
    assert "proxy" not in str(env).lower(), "a build has a proxy of ours; the user's has a password"
    assert mounts == (Mount(tmp_path / "mirror", str(tmp_path / "mirror")), Mount(bundle, CA_INSIDE))


def test_no_index_shows_the_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index's parent is mounted, since its pages link to files beside them."""
    home = tmp_path / "home"
    (home / "simple").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    mounts = for_sandbox(Indexes(f"file://{home}/simple"))[1]
    assert Mount(home / "simple", f"{home}/simple") in mounts and not any(mount.source == home for mount in mounts)
    for shown in (home, tmp_path, Path("/")):
        with pytest.raises(SourceError, match="would show every build what lies in your home"):
            for_sandbox(Indexes(find_links=(str(shown),)))


@pytest.mark.parametrize(
    "url",
    [
        "https://me:S3CRET@127.0.0.1:99999/simple", "http://me:S[3CRET@host/simple", "ftp://me:S3CRET@host:99999/x",
        "https:me:S3CRET@host", "//me:S3CRET@host/x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["PIP_INDEX_URL", "UV_EXTRA_INDEX_URL", "PIP_FIND_LINKS"])
def test_a_malformed_index_is_named_without_its_password(name: str, url: str) -> None:
    with pytest.raises(SourceError, match=f"^{name} of pip or uv names no URL of a package index"):
        configured({name: url})
