"""A package index on this machine's loopback (its files on a port of their own), and a proxy with a password."""

import base64
import contextlib
import hashlib
import io
import select
import socket
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def wheel(name: str, code: str, version: str = "1.0") -> tuple[str, bytes]:
    """(file name, content) of a wheel with one module."""
    stem, info = f"{name}-{version}", f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        for path, text in files.items():
            packed.writestr(path, text)
    return f"{stem}-py3-none-any.whl", data.getvalue()


@contextmanager
def serving(
    pages: dict[str, bytes], tls: ssl.SSLContext | None = None, elsewhere: str = "", password: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """(port, paths asked for) of a web server that holds exactly these pages, perhaps sends on to `elsewhere`, and
    perhaps answers only a request with `password` (USER:PASSWORD)."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            found = pages.get(self.path)
            if (
                password
                and self.headers.get("Authorization") != f"Basic {base64.b64encode(password.encode()).decode()}"
            ):
                self.send_error(401)
                return
            self.send_response(200 if found is not None else 302 if elsewhere else 404)
            self.send_header("Location", elsewhere + self.path)
            self.send_header("Content-Type", "application/octet-stream" if "whl" in self.path else "text/html")
            self.send_header("Content-Length", str(len(found or b"")))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(found or b"")

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def package_index(tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, int, list[str]]]:
    """(URL, port of the files, files asked for) of an index that serves one project, `parcel`."""
    name, data = wheel("parcel", "WHERE = 'from the index'\n")
    with serving({f"/files/{name}": data}, tls) as (files, fetched):
        scheme = "https" if tls else "http"
        link = f"{scheme}://127.0.0.1:{files}/files/{name}#sha256={hashlib.sha256(data).hexdigest()}"
        page = f'<!DOCTYPE html><a href="{link}">{name}</a>'.encode()
        names = b'<!DOCTYPE html><a href="/simple/parcel/">parcel</a>'
        with serving({"/simple/parcel/": page, "/simple/": names}, tls) as (port, _):
            yield f"{scheme}://127.0.0.1:{port}/simple", files, fetched


def own_authority(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS for 127.0.0.1, and the file of the authority that signed it, which nobody else knows."""
    (folder / "extensions").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for words in (
        ("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=tests", "-days", "2"),
        ("req", *key, "-keyout", "key", "-out", "request", "-subj", "/CN=127.0.0.1"),
        ("x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "cert",
         "-days", "2", "-extfile", "extensions"),
    ):  # fmt: skip
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    return context, folder / "ca.pem"


@contextmanager
def proxy_with_password(user: str, password: str) -> Iterator[tuple[int, list[bytes]]]:
    """(port, heads it was sent) of an HTTP proxy that serves who knows the password."""
    heads: list[bytes] = []
    wanted = b"Proxy-Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode())
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            data = b""
            while b"\r\n\r\n" not in data:
                data += near.recv(65536)
            heads.append(data)
            method, target, _ = data.split(b"\r\n")[0].split(b" ")
            if wanted not in data:
                near.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            host, port = target.decode().removeprefix("http://").split("/")[0].rsplit(":", 1)
            with socket.create_connection((host, int(port))) as far:
                if method == b"CONNECT":
                    near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                else:
                    far.sendall(data.replace(f"http://{host}:{port}".encode(), b"", 1))
                _both_ways(near, far)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with listener:
        yield listener.getsockname()[1], heads
        listener.shutdown(socket.SHUT_RDWR)


def _both_ways(near: socket.socket, far: socket.socket) -> None:
    while True:
        for ready in select.select([near, far], [], [], 30)[0]:
            data = ready.recv(65536)
            if not data:
                return
            (far if ready is near else near).sendall(data)
