"""Rules for whether a maintainer would believe that a valid bug was a mistake, and the faults of a bug that breaks
them.

The checks of the method (SSR section 3) show that a bug is valid, not that it looks real: a body replaced by `return
None`, or an undefined name, is found by any linter and teaches a solver little. These rules are not in the paper; they
are applied after the checks.
"""

from selfplay.believable.rules import NAME, BelievableRules, faults, faults_of_diff

__all__ = ["NAME", "BelievableRules", "faults", "faults_of_diff"]
