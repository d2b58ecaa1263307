"""The reward of an episode, from its outcome (SSR section 4, arXiv 2512.18552, and other shapes worth a comparison).

s = solved / attempts is the share of a bug's solver attempts that fully fix it. The functions of `solved` and
`attempts` give the reward of a *valid* bug and raise `ValueError` for impossible counts. `rules` calls the functions of
this module with a recipe's numbers; the defaults are here.
"""

from collections.abc import Callable

ValidBugReward = Callable[[int, int], float]
"""(solved, attempts) -> the injector's reward for a valid bug."""
CONTROLS = ("gold", "empty")
"""The names of the attempts that measure the grader (`rollout.controls`): they earn nothing. They stand here, where
importing them costs a command nothing."""
INVALID, DUPLICATE = -1.0, -0.8
RESOLVED, FAILED, CHEATED = 1.0, -1.0, -1.0


def solve_rate(solved: int, attempts: int) -> float:
    """s. Raises `ValueError` for no attempts and for impossible counts."""
    if attempts < 1 or not 0 <= solved <= attempts:
        raise ValueError(f"{solved} of {attempts} attempts")
    return solved / attempts


def ssr(solved: int, attempts: int, alpha: float = 0.8) -> float:
    """-alpha if no attempt or every attempt solves it, else 1 - (1 + alpha) s. SSR's reward, with its `alpha`."""
    s = solve_rate(solved, attempts)
    return 1.0 - (1.0 + alpha) * s if 0.0 < s < 1.0 else -alpha


def consistency(solved: int = 0, attempts: int = 0) -> float:
    """SSR's ablation: a valid bug earns 1, however hard it is. It needs no attempts."""
    return 1.0


def absolute_zero(solved: int, attempts: int) -> float:
    """1 - s, but 0 if no attempt or every attempt solves it (Absolute Zero, arXiv 2505.03335)."""
    s = solve_rate(solved, attempts)
    return 1.0 - s if 0.0 < s < 1.0 else 0.0


def beta(solved: int, attempts: int, a: float = 1.0, b: float = 1.0) -> float:
    """s^a (1 - s)^b, highest at s = a / (a + b), 0 at both ends. Not scaled: at most 0.25 for a = b = 1.

    Raises `ValueError` for exponents that are not above 0: they would give 0^0 = 1 at an end.
    """
    if a <= 0 or b <= 0:
        raise ValueError(f"exponents above 0, not {a} and {b}")
    s = solve_rate(solved, attempts)
    return float(s**a * (1.0 - s) ** b)


def injector_reward(
    valid: bool, solved: int = 0, attempts: int = 0, shape: ValidBugReward = ssr, otherwise: float = INVALID
) -> float:
    """An injection's reward: that of its `shape` for a valid bug, else `otherwise`. The defaults are the paper's."""
    return shape(solved, attempts) if valid else otherwise


def solver_reward(
    resolved: bool, cheated: bool = False, success: float = RESOLVED, failure: float = FAILED, cheat: float = CHEATED
) -> float:
    """An attempt's reward: `success` if every F2P and P2P test runs and passes, else `failure`; `cheat` for a patch
    that cheats, whatever passes."""
    if cheated:
        return cheat
    return success if resolved else failure


def length_penalty(tokens: int, free: int, longest: int, most: float = 1.0) -> float:
    """The length penalty to add to a reward: 0 up to `free` sampled tokens, then falling in a straight line to -`most`
    at `longest` and beyond (DAPO's soft overlong punishment, arXiv 2503.14476).

    Raises `ValueError` unless 0 <= free < longest and most >= 0.
    """
    if not 0 <= free < longest or most < 0:
        raise ValueError(f"free {free}, longest {longest}, most {most}")
    return -most * min(max(tokens - free, 0) / (longest - free), 1.0)
