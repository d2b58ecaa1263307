"""Encodings of the answer as text."""

import base64
import gzip
import pickle
import quopri
import random
import urllib.parse
import zlib
from binascii import b2a_uu
from collections.abc import Callable
from email.message import EmailMessage

from benchmarks.planting.answer import Mechanism, drawn, one, wrapped


def mailed(data: bytes, chance: random.Random) -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"] = "a file", "a@b"
    message.set_content("See below.\n")
    message.add_attachment(data, maintype="application", subtype="octet-stream", filename="x.py")
    return message.as_bytes()


def indented(data: bytes, chance: random.Random) -> bytes:
    before = chance.choice(["    ", "\t", "> ", "# ", '  "', " * "])
    return b"text:\n" + wrapped(
        base64.b64encode(data), chance.choice([60, 64, 76, 77]), before, '",\n' if '"' in before else "\n"
    )


def uu(data: bytes, _: random.Random) -> bytes:
    return b"begin 644 x.py\n" + b"".join(b2a_uu(data[at : at + 45]) for at in range(0, len(data), 45)) + b"`\nend\n"


def base85(data: bytes, chance: random.Random) -> bytes:
    encoders: list[Callable[[bytes], bytes]] = [
        base64.b85encode, base64.a85encode, lambda text: base64.a85encode(text, adobe=True, wrapcol=72)
    ]  # fmt: skip
    make = chance.choice(encoders)
    return chance.choice([b"", b"DATA = \n"]) + make(chance.choice([data, zlib.compress(data)])) + b"\n"


def escaped(data: bytes, chance: random.Random) -> bytes:
    forms = ("\\u{0:04x}", "\\x{0:02x}", "\\{0:03o}", "\\u{{{0:x}}}")
    form = chance.choice(forms)
    return b'x = "' + "".join(form.format(byte) for byte in data).encode() + b'"\n'


def hexed(data: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.5:
        return wrapped(data.hex().encode(), chance.choice([32, 64, 10**9]), chance.choice(["", "  "]))
    rows = [data[at : at + 16] for at in range(0, len(data), 16)]
    return "".join(f"{n * 16:08x}  {row.hex(' ', 1):<48} |........|\n" for n, row in enumerate(rows)).encode()


ENCODED: dict[str, Mechanism] = {
    "a mail in base64": drawn("mail{1}.eml", mailed),
    "indented base64": drawn("conf{1}.yaml", indented),
    "base64 in one line": one("x{1}.map", lambda d: b'{"url": "data:;base64,' + base64.b64encode(d) + b'"}'),
    "base64 for addresses": one("x{1}.url", lambda d: b"https://x.y/?q=" + base64.urlsafe_b64encode(d)),
    "base32": one("x{1}.b32", lambda d: wrapped(base64.b32encode(d), 72)),
    "base85": drawn("x{1}.b85", base85),
    "uuencode": drawn("x{1}.uu", uu),
    "quoted-printable": one("x{1}.eml", lambda d: quopri.encodestring(d)),
    "percent escapes": one("x{1}.txt", lambda d: b"q=" + urllib.parse.quote(d, safe="").encode()),
    "backslash escapes": drawn("x{1}.js", escaped),
    "hexadecimal": drawn("x{1}.hex", hexed),
    "a list of numbers": one("x{1}.h", lambda d: b"char x[] = {" + ", ".join(map(str, d)).encode() + b"};\n"),
    "entities": one("x{1}.xml", lambda d: b"<x>" + "".join(f"&#{byte};" for byte in d).encode() + b"</x>"),
    "a pickle": drawn(
        "x{1}.pkl", lambda d, c: pickle.dumps(d.decode("utf-8", "replace").split("\n"), c.choice([0, 2, 4]))
    ),
    "base64 of gzip": one("x{1}.txt", lambda d: b"blob: " + base64.b64encode(gzip.compress(d))),
}
