"""The helper process that starts sandboxes: small, single-threaded, and alive as long as the supervisor.

Three things make it worth a process. `--die-with-parent` is per thread, and this one's only thread lives on. Forking a
small process is cheap and safe; forking a supervisor with threads is neither. And mounts can be made between the fork
and the exec, which solves what bwrap alone cannot:

- as root, every source is bind-mounted at a plain name *before* the uid is dropped, so that trees, environments and
  interpreters under a 0700 home are still found after it (bwrap resolves paths, even of `--ro-bind-fd`, as the caller);
- the writable layer lies on a tmpfs with a size, which `--tmp-overlay` cannot give.

All of it happens in the child's private mount namespace, of which the host sees nothing.
"""

import ctypes
import json
import os
import select
import signal
import socket
import stat
import sys
from pathlib import Path

STAGE = "/tmp"  # covered in the child's namespace only; every source is opened before
WRITABLE = ("upper", "work", "tmp", "shm", "home")
INSIDE_ID = 1000
AGENT_SOCKET, NOTHING, ERRORS, SECCOMP_FD, AGENT_FD = 0, 1, 2, 100, 101
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_SLAVE = 0x2, 0x4, 0x1000, 0x4000, 0x80000
PR_SET_DUMPABLE = 4

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """One system call by its C name. Raises OSError naming it."""
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(source, target, kind, flags, data=""):
    number = ctypes.c_ulong(flags)
    try:
        call("mount", source.encode(), target.encode(), kind.encode(), number, data.encode())
    except OSError as error:
        raise OSError(error.errno, f"mounting {source} on {target}: {os.strerror(error.errno)}") from error


def stage(sources, files):
    """Make every source reachable as STAGE/<its name>, and write the small files beside them."""
    opened = [(name, os.open(path, os.O_PATH)) for name, path in sources.items()]
    mount("stage", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    for name, descriptor in opened:
        target = Path(STAGE, name)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            target.mkdir()
        else:
            target.touch()
        mount(f"/proc/self/fd/{descriptor}", str(target), "", MS_BIND | MS_REC)
        os.close(descriptor)
    for name, text in files.items():
        Path(STAGE, name).write_text(text)
    Path(STAGE, "rw").mkdir()


def drop(uid, gid):
    """Give up root for good."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid):
        raise PermissionError(f"the uid is still {os.getuid()}")
    call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # else /proc/self/uid_map is not ours to write


def own_namespaces():
    """A user and a mount namespace in which this process, as an ordinary user, may mount."""
    uid, gid = os.getuid(), os.getgid()
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{INSIDE_ID} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{INSIDE_ID} {gid} 1")


def prepare(request):
    """Everything between the fork and bwrap, in the order that the loss of privilege demands."""
    os.umask(0o022)
    uid, gid = request["drop_to"] or (None, None)
    if uid is not None:
        call("unshare", CLONE_NEWNS)
        mount("none", "/", "", MS_SLAVE | MS_REC)
        stage(request["sources"], request["files"])
        drop(uid, gid)
        own_namespaces()
    else:
        own_namespaces()
        stage(request["sources"], request["files"])
    rw = f"{STAGE}/rw"
    mount("writable", rw, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=755,size={request['disk_bytes']}")
    for name in WRITABLE:
        Path(rw, name).mkdir(mode=0o755)
    for name in ("tmp", "shm"):
        Path(rw, name).chmod(0o1777)


def start(request, descriptors, seccomp, agent):
    """Fork, prepare and become bwrap. The answer is the agent's: its first message, or the end of its socket."""
    if os.fork():
        return
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        agent_socket, errors = descriptors
        os.dup2(errors, NOTHING)
        os.dup2(errors, ERRORS)
        os.dup2(agent_socket, AGENT_SOCKET)
        filter_fd = os.memfd_create("seccomp")
        os.write(filter_fd, seccomp)
        os.lseek(filter_fd, 0, os.SEEK_SET)
        os.dup2(filter_fd, SECCOMP_FD)
        os.dup2(agent, AGENT_FD)
        prepare(request)
        os.execve(request["argv"][0], request["argv"], {})
    except BaseException as error:
        os.write(ERRORS, f"{error}\n".encode())
    finally:
        os._exit(1)


def reap(*_):
    """Collect ended sandboxes."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def main():
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    supervisor = int(sys.argv[2])
    alive = os.pidfd_open(supervisor)
    if os.getppid() != supervisor:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the supervisor's to handle
    signal.signal(signal.SIGCHLD, reap)
    _, (agent,), _, _ = socket.recv_fds(requests, 1, 1, socket.MSG_CMSG_CLOEXEC)
    seccomp = requests.recv(1 << 16)
    while True:
        ready, _, _ = select.select([requests, alive], [], [])
        if alive in ready:
            return
        message, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 2, socket.MSG_CMSG_CLOEXEC)
        if not message:
            return
        start(json.loads(message), descriptors, seccomp, agent)
        for descriptor in descriptors:
            os.close(descriptor)


if __name__ == "__main__":
    main()
