"""Finds the hosts of an index's files, by reading one project page of each configured index.

An index's files often lie on another host than its pages. So one page of each index is read, outside of any sandbox,
and builds may also reach the hosts of its links.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

import requests
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedContentTypeError,
)
from pypi_simple.html import RepositoryPage

from selfplay.repository.network.hosts import Address, Allowed, address_of, here, parse_host
from selfplay.repository.network.index_session import IndexSession, SentElsewhere
from selfplay.repository.network.indexes import Indexes, trusted

EVERYWHERE = "pytest"
"""The project whose page is read: every build installs it, so every usable index has it."""
PAGE_SECONDS = 15.0


def allowed_for(
    indexes: Indexes, names: Iterable[str], environ: Mapping[str, str], *, registries: Iterable[str] = ()
) -> Allowed:
    """The addresses that a build with these indexes may reach. `names`: as for `--allow-host`; `registries`: those of
    other languages."""
    urls = [indexes.default or PYPI_SIMPLE_ENDPOINT, *indexes.extra]
    named = {address for name in names for address in parse_host(name)}
    named |= {address for url in (*urls, *indexes.find_links, *registries) if (address := address_of(url))}
    linked: set[Address] = set()
    unread = []
    for url in [*urls, *indexes.find_links]:
        index = address_of(url)
        if index is None:
            continue
        with IndexSession(url) as session:
            session.verify = trusted(environ) or True
            try:
                found = set(_links(session, url, flat=url in indexes.find_links))
            except (requests.RequestException, UnsupportedContentTypeError, NoSuchProjectError, ValueError) as error:
                unread.append(f"{index}: {_reason(error)}")
                continue
        linked |= {address for address in found if here(index.host) or not here(address.host)}
        named |= {address for address in found if here(index.host)}
    return Allowed(frozenset(named), frozenset(linked - named), tuple(unread))


def _links(session: IndexSession, url: str, *, flat: bool) -> Iterator[Address]:
    """The addresses of one page's links, and the addresses to which the page and one file are redirected."""
    seen: list[str] = []
    session.hooks["response"] = [lambda response, **_: seen.append(response.url)]
    if flat:
        answer = session.get(url, timeout=PAGE_SECONDS)
        answer.raise_for_status()
        links = [link.url for link in RepositoryPage.from_html(answer.content, answer.url).links]
    else:
        client = PyPISimple(endpoint=url.rstrip("/") + "/", session=session)
        links = [package.url for package in _page(client)]
    session.allow(links)
    with contextlib.suppress(requests.RequestException):  # its target is known then, or not needed
        session.head(next((link for link in links if address_of(link)), ""), timeout=PAGE_SECONDS, allow_redirects=True)
    for place in {*seen, *links}:
        if address := address_of(place):
            yield address


def _page(client: PyPISimple) -> list[DistributionPackage]:
    """The files of one project: the one that every build needs, or else the first one of the index."""
    try:
        return list(client.get_project_page(EVERYWHERE, timeout=PAGE_SECONDS).packages)
    except NoSuchProjectError:
        first = next(client.stream_project_names(timeout=PAGE_SECONDS), None)
        return list(client.get_project_page(first, timeout=PAGE_SECONDS).packages) if first else []


def _reason(error: Exception) -> str:
    """The error without its URL, which may contain a password."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"it answered {error.response.status_code}"
    if isinstance(error, SentElsewhere):
        return str(error)
    return type(error).__name__
