"""Repositories that bring in another one of the host, and what else lies in a git folder."""

import os
import socket
from pathlib import Path

from hostile_sources import SECRET, case, honest, put, started
from repository_fixtures import git, write


@case("a .git file that names another repository", "names '.*', another repository, which does not know")
def _(folder: Path, other: Path) -> None:
    (folder / ".git").write_text(f"gitdir: {other}/.git\n")


@case("a .git file that names another repository's worktree", "another repository, which does not know")
def _(folder: Path, other: Path) -> None:
    git(other, "worktree", "add", "--quiet", "--detach", f"{other}-tree")
    (folder / ".git").write_text(f"gitdir: {other}/.git/worktrees/other-tree\n")


@case("a .git file that names a worktree of its own making", "another repository")
def _(folder: Path, other: Path) -> None:
    fake = write(folder / "x" / ".git" / "worktrees" / "y", {
        "gitdir": f"{folder}/.git\n", "commondir": f"{other}/.git\n", "HEAD": "ref: refs/heads/trunk\n",
    })  # fmt: skip
    (folder / ".git").write_text(f"gitdir: {fake}\n")


@case("a .git folder whose commondir is another repository", "takes everything from another repository")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    (folder / ".git" / "commondir").write_text(f"{other}/.git\n")


@case("a .git that is a link", "is a link to .*: another repository")
def _(folder: Path, other: Path) -> None:
    (folder / ".git").symlink_to(other / ".git")


@case("a link in place of the objects", "objects is a link to")
def _(folder: Path, other: Path) -> None:
    started(folder)
    (folder / ".git" / "objects").rename(folder / "objects")
    (folder / ".git" / "objects").symlink_to(other / ".git" / "objects")
    (folder / ".git" / "refs" / "heads" / "trunk").write_text(git(other, "rev-parse", "HEAD"))


@case("alternates that name another repository", "borrows the objects of another repository: '.*/other/.git/objects'")
def _(folder: Path, other: Path) -> None:
    started(folder)
    (folder / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")
    (folder / ".git" / "refs" / "heads" / "trunk").write_text(git(other, "rev-parse", "HEAD"))


@case("relative alternates that climb", "borrows the objects of another repository")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    (folder / ".git" / "objects" / "info" / "alternates").write_text(f"../../../{other.name}/.git/objects\n")


@case("alternates of alternates", "borrows the objects of another repository")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    write(folder / "more" / "info", {"alternates": f"{other}/.git/objects\n"})
    (folder / ".git" / "objects" / "info" / "alternates").write_text(f"{folder}/more\n")


@case("a submodule whose .git file names another repository")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    write(
        folder, {".gitmodules": f'[submodule "s"]\n\tpath = s\n\turl = {other}\n', "s/.git": f"gitdir: {other}/.git\n"}
    )
    head = git(other, "rev-parse", "HEAD")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{head},s")
    git(folder, "add", ".gitmodules")
    git(folder, "commit", "--quiet", "-m", "submodule")


for url in (
    "file://{other}", "{other}", "../other", "ext::cat {other}/secret.txt", "--upload-pack=touch x", "x" * 9000,
     "https://", "ssh://-oProxyCommand=x/y", "http://127.0.0.1:9/x", "-oProxyCommand=x:y"
):  # fmt: skip

    def submodule(folder: Path, other: Path, url: str = url) -> None:
        honest(folder)
        write(folder, {".gitmodules": f'[submodule "s"]\n\tpath = s\n\turl = {url.format(other=other)}\n'})
        git(folder, "update-index", "--add", "--cacheinfo", f"160000,{git(other, 'rev-parse', 'HEAD')},s")
        git(folder, "add", ".gitmodules")
        git(folder, "commit", "--quiet", "-m", "submodule")

    case(f"a submodule with the URL {url[:40]!r}")(submodule)


@case("a submodule that is its own repository")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{git(folder, 'rev-parse', 'HEAD')},s")
    git(folder, "commit", "--quiet", "-m", "submodule")


@case("links to the host's files")
def _(folder: Path, other: Path) -> None:
    for name, target in {"a": f"{other}/secret.txt", "b": "../other/secret.txt", "c": "/proc/self/root"}.items():
        (folder / name).symlink_to(target)
    honest(folder)


@case("configuration that includes, executes and leads away")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    os.mkfifo(folder / "pipe")
    for key, value in {
        "include.path": "../pipe", "core.worktree": str(other), "core.fsmonitor": "touch /tmp/ran", "core.pager": "x",
        "core.hooksPath": str(folder), "core.excludesFile": str(folder / "pipe"), "extensions.worktreeConfig": "true",
        "uploadpack.packObjectsHook": "touch /tmp/ran", "core.sshCommand": "touch /tmp/ran",
    }.items():  # fmt: skip
        (folder / ".git" / "config").open("a").write(f"[{key.split('.')[0]}]\n\t{key.split('.')[1]} = {value}\n")


for name in ("HEAD", "index", "config", "shallow", "packed-refs", "refs/heads/pipe", "info/exclude", "commondir"):

    def pipe(folder: Path, other: Path, name: str = name) -> None:
        honest(folder)
        path = folder / ".git" / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    told = {"HEAD": "has no readable HEAD|holds no files", "commondir": "takes everything from another"}
    case(f"a pipe as .git/{name}", told.get(name, ""))(pipe)

for name in (".gitignore", ".gitattributes", "sub/.gitignore"):

    def ignoring(folder: Path, other: Path, name: str = name) -> None:
        honest(folder)
        (folder / name).parent.mkdir(exist_ok=True)
        os.mkfifo(folder / name)

    case(f"a pipe as {name}")(ignoring)

for name in ("info/alternates", "aa/" + 38 * "b", "pack/x.idx"):

    def among_objects(folder: Path, other: Path, name: str = name) -> None:
        honest(folder)
        (folder / ".git" / "objects" / name).parent.mkdir(exist_ok=True)
        os.mkfifo(folder / ".git" / "objects" / name)

    case(f"a pipe as .git/objects/{name[:20]}", "among its objects is not a regular file")(among_objects)


@case("a pipe as .git", "is not a git folder and does not name one")
def _(folder: Path, other: Path) -> None:
    os.mkfifo(folder / ".git")


@case("a socket as .git", "is not a git folder and does not name one")
def _(folder: Path, other: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)  # the name of a socket is short
    socket.socket(socket.AF_UNIX).bind(".git")
    os.chdir(here)


@case("replaced objects and grafts")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    head = git(folder, "rev-parse", "HEAD")
    blob = put(folder, "blob", SECRET.encode())
    write(folder / ".git", {f"refs/replace/{git(folder, 'rev-parse', 'HEAD:main.c')}": f"{blob}\n"})
    write(folder / ".git" / "info", {"grafts": f"{head} {'0' * 39}1\n"})


@case("a broken list of shallow commits", "cannot be read as a git repository: fatal: bad shallow line")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    (folder / ".git" / "shallow").write_text("not a commit\n")


@case("a broken HEAD", "has no commit yet|cannot be read|holds no files|not a git repository")
def _(folder: Path, other: Path) -> None:
    honest(folder)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/../../../../other/.git/HEAD\n")


@case("a partial clone", "git cannot read it|cannot be read as a git repository")
def _(folder: Path, other: Path) -> Path:
    whole = folder / "whole"
    whole.mkdir()
    git(honest(whole), "config", "uploadpack.allowFilter", "true")
    git(folder, "clone", "--quiet", "--no-checkout", "--filter=blob:none", whole.as_uri(), "part")
    return folder / "part"


@case("SHA-256 names", "its objects have SHA-256 names")
def _(folder: Path, other: Path) -> None:
    git(folder, "init", "--quiet", "--object-format=sha256", "--initial-branch=trunk")
    write(folder, {"a": ""})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "a")
