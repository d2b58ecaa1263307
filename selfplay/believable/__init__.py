"""Would a maintainer believe that somebody wrote this by mistake? Rules about a valid bug, and what is against it.

The checks of the method (SSR section 3) say that a bug is one, not that it looks like one: a body replaced by `return
None`, or a name that no line defines, is found by any linter and teaches a solver little. These rules are ours, and
stand after the checks.
"""

from selfplay.believable.rules import NAME, BelievableRules, faults, faults_of_diff

__all__ = ["NAME", "BelievableRules", "faults", "faults_of_diff"]
