"""Runs one command of a build with network access: a port of the sandbox's loopback is forwarded to a socket of the
host.

    python -I -S egress.py SOCKET [COMMAND ...]

Without a command it only tests the socket. A separate process forwards; this one becomes the command, so that exit
code, signals and output are exactly the command's. The sandbox ends both when the command ends.
"""

import os
import signal
import socket
import sys
import threading

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
CHUNK = 65536


def pump(source, target):
    """Copy one direction of a connection until its end."""
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
    except OSError:  # it is closed already
        return


def connect(path):
    far = socket.socket(socket.AF_UNIX)
    far.connect(path)
    return far


def forward(near, path):
    """Copy both directions of a connection."""
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
    """Accept connections until the sandbox ends this process."""
    while True:
        near, _ = listener.accept()
        try:
            threading.Thread(target=forward, args=(near, path), daemon=True).start()
        except RuntimeError:  # out of threads: drop this connection
            near.close()


def leave(listener, path):
    """Fork the forwarding process. It is not a child of the command, and holds none of its streams."""
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
    """Become the command, with its usual signals and variables, plus the proxy's."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and programs inherit that
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
