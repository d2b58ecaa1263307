"""Runs commands of this package one after the other, each in a fork of a process that has imported them already.

Starting Python and importing takes longer than most of what is measured; what a command takes in memory is counted from
the fork on, with all that was imported, so nothing is left out. Requests and answers are lines of JSON.
"""

import gc
import json
import os
import signal
import sys
import tempfile
import time
from typing import IO

PATIENCE = 60.0


def main() -> None:
    """Answer each line `[argument, ...]` with `[code, wall s, core s, peak MiB, stdout, stderr]`."""
    import selfplay.commands.curriculum
    import selfplay.commands.demonstrate
    import selfplay.commands.lessons
    import selfplay.commands.predictions
    import selfplay.commands.report
    import selfplay.commands.show
    import selfplay.commands.validate
    import selfplay.report.episode_page
    import selfplay.report.page
    import selfplay.report.run  # noqa: F401
    from selfplay.cli import main as command

    gc.freeze()
    for line in sys.stdin:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            began = time.monotonic()
            child = os.fork()
            if child == 0:
                _child(json.loads(line), out, err, command)
            status, used = _waited(child, began + PATIENCE)
            code = os.waitstatus_to_exitcode(status)
            core = used.ru_utime + used.ru_stime
            told = [_told(stream) for stream in (out, err)]
            print(json.dumps([code, time.monotonic() - began, core, used.ru_maxrss // 1024, *told]), flush=True)


def _child(arguments: list[str], out: IO[bytes], err: IO[bytes], command: object) -> None:
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.argv = ["selfplay", *arguments]
    code = 70
    try:
        command()  # type: ignore[operator]
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    import atexit

    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _waited(child: int, deadline: float) -> tuple[int, "os.struct_rusage"]:  # type: ignore[name-defined]
    while True:
        pid, status, used = os.wait4(child, os.WNOHANG)
        if pid:
            return status, used
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.005)


def _told(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read(1 << 20).decode("utf-8", "replace")


if __name__ == "__main__":
    main()
