"""How much each role's tokens weigh in an update of both roles.

The roles share weights, and a batch holds as many tokens of each as their episodes happened to have: an injector that
learns to write long bugs would crowd out the solver. Not in the paper, which adds both roles' losses as they come.
"""


def role_weights(injector: int, solver: int, share: float) -> tuple[float, float]:
    """The factors of the injector's and the solver's losses, from how many tokens (or sequences) of each are trained
    on, so that the injector's have `share` of the update and the sum of the weights stays injector + solver. Both are 1
    where a role has none. Raises `ValueError` unless the share lies between 0 and 1."""
    if not 0 < share < 1:
        raise ValueError(f"a share between 0 and 1, not {share}")
    if not injector or not solver:
        return 1.0, 1.0
    both = injector + solver
    return share * both / injector, (1 - share) * both / solver
