"""Runs one command of a build with a way out: a port of the sandbox's own loopback that leads to a socket of the host.

    python -I -S egress.py SOCKET [COMMAND ...]

Without a command it only tries the socket. The forwarding is done by a process of its own, and this one becomes the
command: so its exit code, signals and output are the command's, exactly. The sandbox ends both when the command ends.
"""

import os
import signal
import socket
import sys
import threading

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
CHUNK = 65536


def pump(source, target):
    """One direction of a connection, until its end."""
    try:
        while True:
            data = source.recv(CHUNK)
            if not data:
                break
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            hang_up(end)


def hang_up(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:  # it did already
        return


def connect(path):
    far = socket.socket(socket.AF_UNIX)
    far.connect(path)
    return far


def forward(near, path):
    """One connection, in both directions."""
    with near:
        try:
            far = connect(path)
        except OSError:
            return
        with far:
            back = threading.Thread(target=pump, args=(far, near))
            back.start()
            pump(near, far)
            back.join()


def serve(listener, path):
    """Accept until the sandbox ends this process."""
    while True:
        near, _ = listener.accept()
        try:
            threading.Thread(target=forward, args=(near, path), daemon=True).start()
        except RuntimeError:  # no more threads: this connection is given up
            near.close()


def leave(listener, path):
    """Fork the forwarding process. It is no child of the command, and holds none of its streams."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        if os.fork() == 0:
            os.setsid()
            empty = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(empty, descriptor)
            os.chdir("/")
            serve(listener, path)
    finally:
        os._exit(0)


def become(argv, proxy):
    """Become the command, with the signals and the variables it would have had, and the proxy's."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and what is ignored is inherited
        signal.signal(number, signal.SIG_DFL)
    env = dict(os.environ)
    for name in NAMES:
        env[name] = env[name.lower()] = proxy
    try:
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        print("%s: %s" % (argv[0], error.strerror), file=sys.stderr)
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


def main():
    path, argv = sys.argv[1], sys.argv[2:]
    if not argv:
        try:
            connect(path).close()
        except OSError as error:
            sys.exit("%s: %s" % (path, error.strerror))
        return
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    leave(listener, path)
    become(argv, "http://127.0.0.1:%d" % listener.getsockname()[1])


if __name__ == "__main__":
    main()
