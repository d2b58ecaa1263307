"""Each event of certain kinds is reported once per place: the nearest file of the repository on the stack, or `tests`
for any test. Nothing is judged here, except that events of the kinds in `ends` end the process: the original never
showed them, and they could undo the report. What Python's own machinery does for a declaration, such as a dataclass, is
left out.
"""

import os
import sys
from _thread import get_ident

EVENT_KINDS = {
    "sys._getframe": "frames", "sys._getframemodulename": "frames", "sys._current_frames": "frames",
    "sys._current_exceptions": "frames", "sys.settrace": "tracing", "sys.setprofile": "tracing",
    "sys.addaudithook": "tracing", "sys.monitoring.register_callback": "tracing", "gc.get_objects": "objects",
    "gc.get_referrers": "objects", "gc.get_referents": "objects", "code.__new__": "code", "function.__new__": "code",
    "marshal.loads": "code", "marshal.load": "code", "exec": "code", "compile": "code",
    "object.__getattr__": "insides", "object.__setattr__": "insides", "object.__delattr__": "insides",
    "os.fork": "processes", "os.forkpty": "processes", "os.exec": "processes", "os.system": "processes",
    "os.posix_spawn": "processes", "os.spawn": "processes", "subprocess.Popen": "processes", "pty.spawn": "processes",
    "os.kill": "kills", "os.killpg": "kills", "signal.pthread_kill": "kills", "import": "runner",
}  # fmt: skip
EVENT_PREFIXES = {"ctypes": "memory", "socket": "network"}
PATHS = {"open": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2}
PATHS.update(dict.fromkeys((
    "os.listdir", "os.scandir", "os.remove", "os.truncate", "os.chmod", "os.chown", "os.utime", "os.mkdir", "os.rmdir",
    "os.chdir", "os.setxattr", "mmap.__new__", "fcntl.fcntl", "fcntl.ioctl",
), 1))  # fmt: skip
INNER = ("__code__", "__closure__", "__globals__", "tb_frame", "gi_frame", "cr_frame", "ag_frame", "gi_code", "cr_code")
"""Attributes that count when a file of the repository itself reads them; a frame is reached through one of them, or by
`sys._getframe`."""
MACHINERY = (
    "ast", "collections/__init__", "dataclasses", "enum", "typing", "functools", "abc", "warnings", "logging/__init__",
    "contextlib", "copy", "annotationlib",
)  # fmt: skip
DECLARING = ("frames", "code", "insides")
"""Kinds that declarations show, too."""
FROZEN = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>", "<frozen abc>")
MOST_EVENTS = 2000
ENDED = 70


def watch(order, runners, speak, stream):
    """Set the hook. `speak` signs an event, and writes it to `stream`.

    `order`: the `root` of the tree, the path prefixes of `tests` in it and of the judge's `own` files, and the kinds
    that end the process (`ends`). Everything is kept in closures, because the program may change any global name.
    """
    scratch = os.environ.get("SELFPLAY_DIR")  # folder of the test script; the runner keeps its cache there
    scratch = scratch and scratch.rstrip("/") + "/"
    place_of = event_place(order)
    say = event_sayer(order, speak, place_of)
    look = event_looker(order, runners, say, place_of, event_target(order, stream, scratch), scratch)
    sys.addaudithook(event_hook(look))


def event_place(order):
    """The function that names the nearest file of the repository on a frame's stack: `tests` for any test, None for
    code that runs during an import, and "" if there is none."""
    root, areas = order["root"].rstrip("/") + "/", tuple(order["tests"])
    normal, after, loading = os.path.normpath, len(root), FROZEN[0]

    def place_of(frame):
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(root) or name[:1] not in ("/", "<"):
                path = name[after:] if name.startswith(root) else normal(name)
                return "tests" if path.startswith(areas) else path
            if name == loading:
                return None
            frame = frame.f_back
        return ""

    return place_of


def event_target(order, stream, scratch):
    """The function that tells which file an argument of an event names: (kind, path) when it is one of the judge or of
    the tests; None otherwise."""
    own, areas, root = tuple(order["own"]), tuple(order["tests"]), order["root"].rstrip("/") + "/"
    own += (scratch,) if scratch else ()
    cwd, fspath, normal, kind_of, raw, number, wrong, after = (
        os.getcwd, os.fspath, os.path.normpath, type, bytes, int, TypeError, len(root),
    )  # fmt: skip
    mro, spaces = type.__dict__["__mro__"].__get__, type.__dict__["__dict__"].__get__
    function, builtin = type(watch), type(str.join)

    def asks(kind):
        """Whether the code that gives this object's path may be the repository's own."""
        for owner in mro(kind):
            given = spaces(owner).get("__fspath__")
            if given is not None:
                name = given.__code__.co_filename if kind_of(given) is function else ""
                return not name.startswith("/") or name.startswith(root) if name else kind_of(given) is not builtin
        return False

    def target(thing):
        if kind_of(thing) is number:
            return ("own", "the record") if thing == stream else None
        if asks(kind_of(thing)):  # the object would notice the question
            return "insides", "an object that gives its path"
        try:
            path = fspath(thing)
        except wrong:
            return None
        if kind_of(path) is raw:
            path = path.decode("utf-8", "surrogateescape")
        path = normal(path if path[:1] == "/" else cwd() + "/" + path)
        if path.startswith(own) or (path + "/").startswith(own):
            return "own", path
        if path.startswith("/proc/"):
            return "memory", path
        path = path[after:] if path.startswith(root) else ""
        return ("tests", path) if path and (path.startswith(areas) or (path + "/").startswith(areas)) else None

    return target


def event_sayer(order, speak, place_of):
    """The function that reports an event, once per place, and ends the process for some kinds."""
    ends, said, leave, size, most, status, declaring = (
        frozenset(order["ends"]), set(), os._exit, len, MOST_EVENTS, ENDED, DECLARING,
    )  # fmt: skip

    def say(kind, frame, detail):
        place = place_of(frame)
        if place is None:  # code that runs during an import is not attributed to the importing file
            if kind in declaring:
                return
            place = ""
        event = (kind, place, detail)
        if event in said or (kind in ("own", "tests") and place == "tests") or size(said) > most:
            return
        said.add(event)
        speak("event", kind + "\n" + place, detail)
        if kind in ends:
            leave(status)

    return say


def event_looker(order, runners, say, place_of, target, scratch):
    """The function that reports what an event shows, if it is of a kind that counts."""
    root, lib = order["root"].rstrip("/") + "/", os.path.dirname(os.path.abspath(os.__file__))
    exempt = frozenset(FROZEN + tuple("%s/%s.py" % (lib, name) for name in MACHINERY))
    kinds, prefixes, paths, declaring = dict(EVENT_KINDS), dict(EVENT_PREFIXES), dict(PATHS), DECLARING
    said, kept, size, same, me, parent = set(), [], len, id, os.getpid(), os.getppid()

    def look(event, args, frame):
        if event in paths:
            for thing in args[: paths[event]]:
                found = target(thing)
                if found and not (scratch and (found[1] + "/").startswith(scratch) and not place_of(frame)):
                    say(found[0], frame, found[1])
            return
        kind = kinds[event] if event in kinds else prefixes[event.partition(".")[0]]
        if kind == "runner":
            if args[0].partition(".")[0] not in runners:
                return
        elif kind == "kills":
            if event != "signal.pthread_kill" and args[0] > 1 and args[0] not in (me, parent):
                kind = "processes"
        elif kind in declaring:
            code = frame.f_code if frame else look.__code__
            near = code.co_filename.startswith(root)
            if (event == "object.__getattr__" and not near) or code.co_filename in exempt:
                return
            if (event, same(code)) in said:
                return
            if near:  # the same code always has the same place
                said.add((event, same(code)))
                kept.append(code)
            elif kind == "frames":
                event += " by " + (code.co_filename[size(lib) + 1 :] if code.co_filename.startswith(lib) else "others")
        say(kind, frame, event)

    return look


def event_hook(look):
    """The hook: it leaves out, quickly, what never counts, and what it causes itself."""
    kinds, prefixes, paths = frozenset(EVENT_KINDS), frozenset(EVENT_PREFIXES), frozenset(PATHS)
    busy, boring, inner, frame_of, ident, low = set(), set(), frozenset(INNER), sys._getframe, get_ident, ValueError

    def hook(event, args):
        if event in boring or (event == "object.__getattr__" and args[1] not in inner):
            return
        if event not in kinds and event not in paths and event.partition(".")[0] not in prefixes:
            boring.add(event)
            return
        mine = ident()
        if mine in busy:
            return
        busy.add(mine)
        try:
            try:
                frame = frame_of(1)
            except low:  # the thread runs only a built-in function
                frame = None
            look(event, args, frame)
        finally:
            busy.discard(mine)

    return hook
