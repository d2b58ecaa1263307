"""Makes the process look like a user's: a terminal, a main module like a script's, and Python's own standard output.
Part of the caller; the program can find no trace of it."""


def selfplay_terminal():
    """Go on in a child process with its own terminal, if terminals are available; this process exits when the child
    does. Reads from the terminal return end-of-file at once."""
    import os

    try:
        child, master = os.forkpty()
    except OSError:
        return False
    if child == 0:
        return True
    os.write(master, b"\x04" * 64)
    while True:
        try:
            if not os.read(master, 65536):
                break
        except OSError:  # the other end is closed
            break
    os._exit(os.waitpid(child, 0)[1] and 1)


def selfplay_script(file, text):
    """Make the main module a user's script, with its file and content."""
    import sys

    if text:
        with open(file, "w") as stream:
            stream.write(text)
        exec(compile(text, file, "exec"), vars(sys.modules["__main__"]))


def selfplay_printed(file):
    """(begin, end) around a call: `end` returns what it printed. In a user's process the original standard output goes
    to this file; without a file, output is collected in memory."""
    import io
    import os
    import sys

    def swap():
        printed[:] = [made()]
        sys.stdout = sys.stderr = printed[0]

    def back():
        sys.stdout, sys.stderr = real
        return "" if printed[0].closed else printed[0].getvalue()

    def turn():
        cut(into, 0)
        seek(into, 0, 0)
        copy(into, 1)
        copy(into, 2)

    def read():
        for one in real:
            try:
                one.flush()
            except Exception:
                continue
        copy(saved[0], 1)
        copy(saved[1], 2)
        sys.stdout, sys.stderr = real
        return look(into, most, 0).decode("utf-8", "replace")

    real, printed, made, most = (sys.stdout, sys.stderr), [None], io.StringIO, 1 << 20
    if not file:
        return swap, back
    into, saved = os.open(file, os.O_RDWR | os.O_CREAT, 0o644), (os.dup(1), os.dup(2))
    cut, seek, copy, look = os.ftruncate, os.lseek, os.dup2, os.pread
    return turn, read
