"""The tree of a dataset's archive, as its script unpacks it on any Python: what came with a dataset may be anything."""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

from selfplay.export import inside

UNPACK = (
    "import sys; sys.path.insert(0, sys.argv[1]); import swesmith_profiles; swesmith_profiles.unpack(*sys.argv[2:])"
)


def test_an_archive_is_unpacked_into_its_folder_alone(tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir()
    with tarfile.open(tmp_path / "one.tar.gz", "w:gz") as packed:
        for name in (
            "pkg/a.py",
            "run.sh",
            "../out",
            "/" + str(tmp_path / "out"),
            ".git/config",
            "a/.GIT/x",
            "in/f",
            "pkg/a.py",
        ):
            member = tarfile.TarInfo(name)
            member.size, member.mode = 2, 0o4755 if name == "run.sh" else 0o644
            packed.addfile(member, io.BytesIO(b"x\n"))
        for name, to in (("link", "pkg/a.py"), ("up", str(tmp_path)), ("run.sh", "/etc/passwd")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, to
            packed.addfile(member)
        member = tarfile.TarInfo("up/out")
        member.size = 2
        packed.addfile(member, io.BytesIO(b"x\n"))
    command = [
        sys.executable,
        "-c",
        UNPACK,
        Path(inside.__file__).parent,
        tmp_path / "one.tar.gz",
        folder,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}
    assert found == {"pkg/a.py", "run.sh", "in/f", "link", "up"} and not (tmp_path / "out").exists()
    assert (folder / "run.sh").stat().st_mode & 0o7777 == 0o755 and str((folder / "link").readlink()) == "pkg/a.py"
