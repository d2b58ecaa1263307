"""Searches contents for what a bug removed: its lines, its shingles, its compiled functions, a digest of the original.

Part of the search inside the sandbox: `walk.py`, which follows, gives it every file."""

import html
import marshal
import os
import re
import resource
import types

TELLING_CODE = 100
"""Bytes of byte-code: above this size, equal functions are copies, not a coincidence."""
DOCUMENTS = (".md", ".rst", ".txt", ".html", ".ipynb", ".adoc", ".tex", ".xml", ".json", ".csv", ".log", "")
FEW = 3
WHOLE = 2 / 3
"""The share that all places together must hold if no single place holds enough."""
MOST_FOUND = 1000
MOST_TIMES, LEAST_ROOM = 16, 16 * 1024 * 1024
"""Limit of the data decoded in one file: this many times its size, plus this many bytes."""
SPLIT = re.compile(rb"\r\n?|\n|\\n|\0")
AROUND = re.compile(rb"^(?:\s|[+<>#!*|;%-]|//|/\*|[\w./-]{1,200}[:-]\d+[:-]|\d+[\s:|.,)]|\[?[\"'])+")
AFTER = b"\"', "
"""What listings put around a line of code: comment signs, places, numbers, quotes."""
BREAK = re.compile(
    rb"</?(?:br|p|div|li|tr|td|si|text|tspan|text:p|w:p|w:br|a:p|pre|h\d)(?:[\s/][^<>]*)?>", re.IGNORECASE
)
TAG = re.compile(rb"</?[a-zA-Z][^<>\n]*>")
"""Tags that end a line; all tags."""
LEAST_TURNED, MOST_TURNED = 16, 4 * 1024 * 1024
"""Bytes: the shortest line that is searched in other forms, and the largest content for that search."""
LETTERS = bytes(range(97, 123))
ROT13 = bytes.maketrans(
    LETTERS + LETTERS.upper(), (LETTERS[13:] + LETTERS[:13]) + (LETTERS[13:] + LETTERS[:13]).upper()
)
WORD = frozenset(LETTERS + LETTERS.upper() + b"_0123456789")
MARSHALLED = re.compile(rb"[\xe3c](?:.\0\0\0){3}", re.DOTALL)
"""The first bytes of code written by `marshal` alone: small numbers, which do not occur in text."""
MOST_MEMORY = 2 * 1024 * 1024 * 1024
"""Memory limit for marshalled data, in bytes: five bytes can make Python allocate billions of items."""
ESCAPED = (b"\\t", b"\\n", b"\\r")
"""Escape sequences in a printed text: their last letter comes directly before a line but does not belong to it."""


def functions(code, out):
    """The content of each function of compiled code and of the code outside of functions, without its location.
    Comprehensions and lambdas are left out, since they are alike in many programs."""
    if code.co_name[:1] != "<" or code.co_name == "<module>":
        plain = tuple(
            hex(c) if type(c) is int else repr(c) for c in code.co_consts if not isinstance(c, types.CodeType)
        )  # hex: Python refuses to print huge numbers as decimals
        out.add((code.co_name, code.co_code, plain, code.co_names))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            functions(constant, out)
    return out


def turned(line):
    """The line, and other forms of it that are still text: reversed, and in rot13."""
    others = (line[::-1], line.translate(ROT13))
    return [line, *(form for form in others if form != line)]


def stands_in(line, data):
    """Whether the line occurs, and not as the start or end of a longer word."""
    at = data.find(line)
    while at >= 0:
        before = b"" if data[max(0, at - 2) : at] in ESCAPED else data[at - 1 : at]
        around = before + data[at + len(line) : at + len(line) + 1]
        if not any(byte in WORD for byte in around):
            return True
        at = data.find(line, at + 1)
    return False


def as_text(name, data):
    """The text without page tags, JSON quoting, and the zeros of UTF-16 and UTF-32."""
    if name.endswith((".html", ".htm", ".xml", ".svg", ".fodt")):
        text = html.unescape(TAG.sub(b"", BREAK.sub(b"\n", data)).decode("utf-8", "surrogateescape"))
        data = text.replace("\xa0", " ").encode("utf-8", "surrogateescape")
    if name.endswith((".ipynb", ".json")):
        data = data.replace(b'\\"', b'"').replace(b'", "', b"\n")
    if data[:400].count(0) * 5 >= 2 * len(data[:400]) > 0:
        data = data.replace(b"\0", b"")
    return data


class Search:
    """`wanted`: the needles of `leak_audit.needles`. `found`: place -> (kind, share of what was searched for)."""

    def __init__(self, wanted, installed, bounds):
        self.installed, self.bounds = installed, bounds
        self.least, self.least_installed = wanted["least"]
        self.copies = tuple(os.fsencode(place) + b"/" for place in wanted["copies"])
        self.lines = {line.encode("utf-8", "surrogateescape"): index for index, line in enumerate(wanted["lines"])}
        self.forms = {index: turned(line) for line, index in self.lines.items() if len(line) >= LEAST_TURNED}
        self.common, self.partly = set(wanted["common"]), set(wanted["partly"])
        self.context = {line.encode("utf-8", "surrogateescape") for line in wanted["context"]}
        self.shingles = Shingles(wanted["shingles"])
        self.turned = [form for word in self.shingles.words() for form in turned(word)[1:]]
        self.code = lost_functions(wanted["python"])
        self.digests = [digest.encode("ascii") for digest in wanted["digests"]]
        self.found, self.spread_lines, self.spread_shingles = {}, set(), {}
        self.known, self.seen, self.room, self.failed = set(), set(), 0, ""

    def file(self, where, name, raw):
        """Search one file and everything in it. Raises `Spent`."""
        self.known.add(hash(raw))
        self.seen, self.room = set(), LEAST_ROOM + MOST_TIMES * len(raw)
        try:
            self.look(where, name, raw)
        except Spent:
            raise
        except Exception as error:  # internal, or memory: go on, but the world is not clean
            self.failed = "%s could not be searched: %s" % (where, type(error).__name__)

    def look(self, where, name, raw, depth=0, steps=0):
        """Search one content, and everything packed or encoded in it."""
        self.bounds.check()
        installed = where.startswith(self.installed) and not (os.fsencode(where) + b"/").startswith(self.copies)
        kind = "document" if os.path.splitext(name)[1].lower() in DOCUMENTS else "file"
        data = as_text(name, raw)
        self.lines_of(where, kind, data, installed)
        self.shingles_of(where, data, installed)
        if self.code and (raw[2:4] == b"\r\n" or MARSHALLED.match(raw)) and self.compiled(where, raw):
            self.note(where, "compiled", 1.0)
        if not installed and len(data) <= MOST_TURNED:
            self.forms_of(where, kind, data)
        if (kind == "document" or not installed) and holds_digest(self.digests, data):
            self.note(where, "digest", 1.0)
        if depth >= DEPTH:
            self.bounds.leave(where, "deeper than %d" % DEPTH)
            return
        if not (installed and reader_of(raw) is carved):
            for inner, content in unpacked(raw, where, self.bounds):
                self.look(where + "!" + inner, inner or os.path.splitext(name)[0], content, depth + 1)
        for content, made in () if installed else decoded(data, steps):
            if self.fits(where, content):
                self.look(where + "!", name, content, depth + 1, made)

    def fits(self, where, content):
        """Whether a decoded content is new in this file and within its limit: nested encodings multiply."""
        known = hash(content)
        if known in self.seen:
            return False
        self.seen.add(known)
        self.bounds.take(len(content))
        self.room -= len(content)
        if self.room < 0:
            self.bounds.leave(where, "too much is encoded in it")
        return self.room >= 0

    def note(self, where, kind, share):
        """Keep the largest share found in a place."""
        if share > self.found.get(where, ("", 0.0))[1] and (where in self.found or len(self.found) < MOST_FOUND):
            self.found[where] = (kind, round(share, 3))

    def lines_of(self, where, kind, data, installed):
        hit, context = set(), set()
        for chunk in chunks(data) if self.lines else ():
            lines = set(map(bytes.strip, SPLIT.split(chunk)))
            lines |= {
                line[1:].strip() for line in lines if line[:1] in (b"+", b"-", b"<", b">", b"#")
            }  # patches, comments
            if not installed:
                lines |= {
                    AROUND.sub(b"", line).rstrip(AFTER) for line in lines if not line[:1].isalpha() or b":" in line
                }
            hit |= {self.lines[line] for line in lines & self.lines.keys()}
            context |= lines & self.context
        self.judge(where, kind, hit - self.common if kind == "file" else hit, len(context), installed)

    def judge(self, where, kind, hit, context, installed):
        """Whether these lines and their context are a copy, not a coincidence."""
        if not hit:
            return
        if not installed:
            self.spread_lines |= hit - self.common
        least = self.least_installed if installed else self.least
        if len(hit) >= least * len(self.lines) and (len(hit) >= FEW or context >= min(FEW, len(self.context))):
            self.note(where, kind, len(hit) / len(self.lines))

    def shingles_of(self, where, data, installed):
        least = self.least_installed if installed else self.least
        for kind, hit in self.shingles.find(data, least if installed else 0).items():  # may be a part of the whole
            every = self.shingles.count(kind)
            if not installed:
                self.spread_shingles.setdefault(kind, set()).update(hit)
            if len(hit) >= (FEW if installed else min(FEW, every)) and len(hit) >= least * every:
                self.note(where, "tokens", len(hit) / every)

    def forms_of(self, where, kind, data):
        """Search for lines inside other data (a pickle, a printed list), and reversed or in rot13."""
        inside = {index for index, forms in self.forms.items() if stands_in(forms[0], data)}
        if kind == "file":
            inside -= self.partly
        self.judge(where, kind, inside, sum(line in data for line in self.context) if inside else 0, False)
        others = {index for index, forms in self.forms.items() if any(form in data for form in forms[1:])}
        self.judge(where, "turned", others, len(self.context), False)
        if any(form in data for form in self.turned):
            for text in (data[::-1], data.translate(ROT13)):
                self.shingles_of(where, text, False)

    def compiled(self, where, data):
        """Whether compiled Python holds a removed function. A short function may belong to another program, so the path
        must then name the module."""
        for start in (0,) if MARSHALLED.match(data) else (16, 12, 8):
            try:
                found = functions(loaded(data[start:]), set())
            except Exception:  # not code, or code that no compiler makes
                continue
            else:
                return any(
                    len(lost[1]) >= TELLING_CODE or stem in where or len(found & had) >= WHOLE * len(had)
                    for lost, (stem, had) in self.code.items()
                    if lost in found
                )
        return False

    def together(self):
        """Check whether all places together hold enough, if no single place does."""
        shares = [len(hit) / self.shingles.count(kind) for kind, hit in self.spread_shingles.items() if len(hit) >= FEW]
        if len(self.spread_lines) >= FEW:
            shares.append(len(self.spread_lines) / len(self.lines))
        if not self.found and shares and max(shares) >= WHOLE:
            self.note("several places together", "split", max(shares))


def lost_functions(files):
    """Removed function -> (name of its module, all functions of that module)."""
    lost = {}
    for stem, before, after in files:
        try:
            had = functions(compile(before, "x", "exec"), set())
            kept = functions(compile(after, "x", "exec"), set())
        except (SyntaxError, ValueError):
            continue
        lost.update((function, (stem, had)) for function in had - kept)
    return lost


def loaded(data):
    """Read `marshal` data, or raise an exception."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY if soft < 0 else min(soft, MOST_MEMORY), hard))
    try:
        return marshal.loads(data)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
