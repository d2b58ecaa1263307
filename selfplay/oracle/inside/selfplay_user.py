"""A user's process, as the program sees it: a terminal, a main module like a script's, and the standard output that the
language gives. Part of the caller; nothing of it is left where a program may look."""


def selfplay_terminal():
    """Go on in a child with a terminal of its own, where there are any; this process ends as the child does. Who reads
    from the terminal is told at once that nothing comes."""
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
        except OSError:  # the other side is closed
            break
    os._exit(os.waitpid(child, 0)[1] and 1)


def selfplay_script(file, text):
    """The main module is a script of the user's, in its file and in what it holds."""
    import sys

    if text:
        with open(file, "w") as stream:
            stream.write(text)
        exec(compile(text, file, "exec"), vars(sys.modules["__main__"]))


def selfplay_printed(file):
    """(begin, end) around a call: `end` gives what it printed. A user's output is what the language opened, and goes
    to this file; without one it is a text in memory."""
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
