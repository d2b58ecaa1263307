"""The document: one HTML file with its style, script and data inside, which may not use the network.

Data is JSON in elements that no browser executes, with `<`, `>`, `&` and the line ends of JavaScript spelled out; large
data is also compressed and in base64. The policy names the hashes of our style and script, so that no other one can run
even if it got into the page, and Trusted Types forbid the script to parse text as HTML.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from selfplay.version import VERSION

SCRIPTS = ("dom", "data", "charts", "diff", "overview", "gallery", "bug", "episode", "training", "app")
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def script_json(value: Any) -> str:
    """A value as JSON that cannot end an element or start a comment in a document."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def packed(value: Any) -> str:
    """A value as JSON, compressed with zlib, in base64; a browser unpacks it on demand."""
    data = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(data, 9)).decode()


def document(index: Mapping[str, Any], chunks: Mapping[str, str], *, live: bool = False) -> str:
    """The whole page. `chunks`: name -> result of `packed`. `live`: the page asks its own server for more."""
    style, script = _style(), _script()
    return _template().render(
        title=index["name"], index=Markup(script_json(index)), chunks=chunks, style=Markup(style),
        script=Markup(script), policy=content_policy(live=live), version=VERSION, live=live, totals=index["totals"],
    )  # fmt: skip


def content_policy(*, live: bool) -> str:
    """The Content-Security-Policy of a page."""
    rules = {
        "default-src": "'none'",
        "script-src": _hash(_script()),
        "style-src": _hash(_style()),
        "img-src": "data:",
        "connect-src": "'self'" if live else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _style() -> str:
    return _asset("page.css")


@cache
def _script() -> str:
    return '"use strict";\n' + "".join(_asset(f"{name}.js") for name in SCRIPTS)


def _asset(name: str) -> str:
    text = resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")
    if "</" in text and ("</script" in text.lower() or "</style" in text.lower()):
        raise ValueError(f"{name} would end its own element")
    return text


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.from_string(_asset_page())


def _asset_page() -> str:
    return resources.files(__package__).joinpath("assets", "page.html").read_text(encoding="utf-8")
