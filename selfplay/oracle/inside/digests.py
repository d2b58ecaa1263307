"""Whether a content holds a digest of a file, as package managers, git and lists of checksums write them.

Part of the search inside the sandbox, before `search.py`.
"""

import re

HEX, BASE64 = re.compile(rb"[0-9a-fA-F]{32}"), re.compile(rb"[A-Za-z0-9+/_-]{22}")
"""What the shortest digest looks like."""


def holds_digest(digests, data):
    """Whether one of these digests occurs, in letters of either case."""
    if not digests or not (HEX.search(data) or BASE64.search(data)):
        return False
    plain = data.lower()
    return any(one in data or one in plain for one in digests)
