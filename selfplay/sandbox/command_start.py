"""Starts commands directly in their control groups, which the agent never enters.

So the out-of-memory killer cannot choose the agent because of what commands use, and the agent is not slowed down when
they have used up their share of the processors. Under control groups v1, a group may hold single threads: one thread of
the agent is in the commands' groups and starts them, because a child starts where its thread is, and the killer
identifies processes by their first thread. Under v2, a forked child moves there itself, which costs a millisecond more.
Without groups the agent starts its commands directly. Runs on the agent's bare interpreter.
"""

import _signal as signal  # type: ignore[import-not-found]  # the public module costs 5 ms: it makes enumerations
import _thread
import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

ENOENT = 2
NOT_FOUND, NOT_RUNNABLE = 127, 126
USUAL_PATH = b"/usr/bin:/bin"
FIRST = 500
OWN_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""What Python ignores for itself; commands have both at their defaults."""


class Beginning:
    """The settings with which every command of a sandbox starts. `first_killed`: the agent's `oom_score_adj`, opened
    when that was still allowed; `doors`: files through which a process, or a thread, enters the commands' groups; empty
    without groups."""

    def __init__(self, first_killed: int, doors: "tuple[int, ...]") -> None:
        self.first_killed, self.doors = first_killed, doors
        self.usual = posix.pread(first_killed, 16, 0).strip()  # of a desktop's session more than 0, and never less
        self.first = b"%d" % max(FIRST, int(self.usual))
        self.forks = not by_threads(doors) and bool(doors)
        self.starter = Starter(doors) if doors and not self.forks else None
        self.own_threads = 2 if self.starter else 1

    def start(self, argv: "list[bytes]", env: "dict[bytes, bytes]", cwd: bytes, ends: "tuple[int, ...]") -> int:
        """The pid of a new command with these three ends as its streams. Raises `OSError` if none can be started.

        A child inherits its place at the head of the kernel's out-of-memory queue, because it cannot set it itself."""
        posix.pwrite(self.first_killed, self.first, 0)
        try:
            if not self.forks:
                try:
                    return self.spawn(argv, env, cwd, ends)
                except OSError:  # the child reports the error, as a shell would
                    pass
            child = posix.fork()
        finally:
            posix.pwrite(self.first_killed, self.usual, 0)
        if child == 0:
            self.become(argv, env, cwd, ends)
        return child

    def spawn(self, argv: "list[bytes]", env: "dict[bytes, bytes]", cwd: bytes, ends: "tuple[int, ...]") -> int:
        """Like `start`, without a copy of this process. Raises `OSError` for a folder or program that does not
        exist."""
        posix.putenv(b"PATH", env.get(b"PATH", USUAL_PATH))
        posix.chdir(cwd)
        return spawned(argv, env, ends) if self.starter is None else self.starter.spawn(argv, env, ends)

    def become(self, argv: "list[bytes]", env: "dict[bytes, bytes]", cwd: bytes, ends: "tuple[int, ...]") -> "NoReturn":
        """Become the command, or exit as a shell would: 127 for a program that does not exist, 126 for one that cannot
        run."""
        code = NOT_RUNNABLE
        try:
            for door in self.doors:
                posix.write(door, b"0")
            posix.setsid()
            for target, end in enumerate(ends):
                posix.dup2(end, target)
            for number in OWN_IGNORED:
                signal.signal(number, signal.SIG_DFL)
            posix.chdir(cwd)
            execute(argv, env)
        except OSError as error:
            code = NOT_FOUND if error.errno == ENOENT else NOT_RUNNABLE
            posix.write(2, b"%s: %s\n" % (error.filename or b"?", (error.strerror or "failed").encode()))
        finally:
            posix._exit(code)


def execute(argv: "list[bytes]", env: "dict[bytes, bytes]") -> None:
    """Execute a program found on the PATH of `env`. Raises `OSError` with the name that was called."""
    name = argv[0]
    refused = OSError(ENOENT, "No such file or directory", name)
    folders = [b""] if b"/" in name else env.get(b"PATH", USUAL_PATH).split(b":")
    for folder in folders:
        try:
            posix.execve(folder + b"/" + name if folder else name, argv, env)
        except OSError as error:
            if error.errno != ENOENT or len(folders) == 1:
                refused = OSError(error.errno, error.strerror, name)
    raise refused


def spawned(argv: "list[bytes]", env: "dict[bytes, bytes]", ends: "tuple[int, ...]") -> int:
    """The pid of a program started by the calling thread, in a new session. Raises OSError."""
    dup2 = [(posix.POSIX_SPAWN_DUP2, end, target) for target, end in enumerate(ends)]
    return posix.posix_spawnp(argv[0], argv, env, file_actions=dup2, setsid=True, setsigdef=OWN_IGNORED)


def forget_signals() -> None:
    """No signal is ignored or blocked because it was where the supervisor started: under `nohup`, in a script's
    background. Commands inherit it, and a suite would have another result. And pid 1 without a handler cannot be
    interrupted from inside."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, *OWN_IGNORED}:
        if signal.getsignal(number) != signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def by_threads(doors: "tuple[int, ...]") -> bool:
    """Whether single threads may enter: then v1's `doors` are called `tasks`."""
    return all(posix.readlink(f"/proc/self/fd/{door}").endswith("/tasks") for door in doors)


def standing() -> "tuple[int, int, set[int]]":
    """How the kernel schedules the calling thread: policy, niceness, processors."""
    return posix.sched_getscheduler(0), posix.getpriority(posix.PRIO_PROCESS, 0), posix.sched_getaffinity(0)


class Starter:
    """The thread in the commands' groups. It exists from the first command until the agent rests, or until a command
    has changed its priority: the filter protects process 1 alone, and all later commands would inherit that."""

    def __init__(self, doors: "tuple[int, ...]") -> None:
        self.doors = doors
        self.usual: tuple[int, int, set[int]] | None = None  # of each start: the user may change it from outside
        self.asked, self.done = _thread.allocate_lock(), _thread.allocate_lock()
        self.begun = False
        self.request: tuple[list[bytes], dict[bytes, bytes], tuple[int, ...]] | None = None
        self.answer: int | OSError | None = 0

    def spawn(self, argv: "list[bytes]", env: "dict[bytes, bytes]", ends: "tuple[int, ...]") -> int:
        """The pid of a command. Raises OSError."""
        if not self.begun:
            self.asked.acquire()
            self.done.acquire()
            _thread.start_new_thread(self.serve, ())
            self.begun = True
        self.request, self.usual = (argv, env, ends), standing()
        self.asked.release()
        self.done.acquire()
        if self.answer is None:
            _thread.start_new_thread(self.serve, ())  # as this thread stands, which no command can change
            self.asked.release()
            self.done.acquire()
        if isinstance(self.answer, int):
            return self.answer
        raise self.answer or OSError("a command cannot be started as this process stands")

    def serve(self) -> None:
        """Enter the groups, and start the requested commands; without an answer if a command changed this thread."""
        inside = False
        while True:
            self.asked.acquire()
            if standing() != self.usual:
                self.answer = None
                self.done.release()
                return
            try:
                if not inside:
                    for door in self.doors:
                        posix.write(door, b"0")
                    inside = True
                assert self.request is not None
                self.answer = spawned(*self.request)
            except OSError as error:
                self.answer = error
            self.done.release()
