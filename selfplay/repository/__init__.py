"""From a source a user can type to a tree, an environment and a measured test suite. Knows nothing of bugs."""

from selfplay.repository.prepared import Prepared, Suite

__all__ = ["Prepared", "Suite"]
