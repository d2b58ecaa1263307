"""The branches of a dataset's repository, as its script makes them on any Python: what came with a dataset may be
anything."""

import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from selfplay.export import inside

NAMES = ("pkg/a.py", "run.sh", "../out", ".git/config", "a/.GIT/x", "in/f", "pkg/a.py")
ROW = {"repo": "selfplay/one", "instance_id": "bug", "ssr_environment_key": "key", "patch": "", "ssr_test_weaken": ""}


def packed(path: Path, around: Path) -> None:
    """An archive with files and links that would lead out."""
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as archive:
        for name in (*NAMES, f"{around}/out"):
            member = tarfile.TarInfo(name)
            member.size, member.mode = 2, 0o4755 if name == "run.sh" else 0o644
            archive.addfile(member, io.BytesIO(b"x\n"))
        for name, to in (("link", "pkg/a.py"), ("up", str(around)), ("run.sh", "/etc/passwd")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, to
            archive.addfile(member)
        member = tarfile.TarInfo("up/out")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"x\n"))


def test_an_archive_is_unpacked_into_its_folder_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    packed(data / "environments" / "key" / "original.tar.gz", tmp_path)
    for name in ("swesmith_profiles.py", "build_images.py"):
        shutil.copy(Path(inside.__file__).with_name(name), data)
    (data / "train.jsonl").write_text(json.dumps(ROW) + "\n")
    done = subprocess.run([sys.executable, data / "swesmith_profiles.py", "remotes"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    listed = ["git", "-C", data / "remotes" / "one.git", "ls-tree", "-r", "bug"]
    modes = {line.split("\t")[1]: line[:6] for line in subprocess.check_output(listed, text=True).splitlines()}
    assert modes == {"in/f": "100644", "link": "120000", "pkg/a.py": "100644", "run.sh": "100755", "up": "120000"}
    assert not (tmp_path / "out").exists()
