"""The reward of an episode (SSR section 4), from its outcome."""


def injector_reward(valid: bool, solved: int = 0, attempts: int = 0, alpha: float = 0.8) -> float:
    """The injector's reward for an artifact: -1 when it is not valid. For a bug that `solved` of `attempts` attempts
    fully fix, with s = solved / attempts: -alpha at s = 0 and s = 1, else 1 - (1 + alpha) s.

    Raises `ValueError` for a valid bug without attempts, which has no reward, and for impossible counts.
    """
    if not valid:
        return -1.0
    if attempts < 1 or not 0 <= solved <= attempts:
        raise ValueError(f"{solved} of {attempts} attempts")
    if solved in (0, attempts):
        return -alpha
    return 1.0 - (1.0 + alpha) * solved / attempts


def solver_reward(resolved: bool) -> float:
    """The solver's reward for an attempt: +1 if every F2P and P2P test is there and passes, else -1."""
    return 1.0 if resolved else -1.0
