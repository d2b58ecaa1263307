"""What a strong model would say in an episode, for tests in which a tiny random one plays: of episodes that begin
alike, the first says it and the others are free."""

from collections.abc import Sequence

from recorded import messages

PLANTED, MENDED = messages("shop_injector.txt"), messages("shop_solver.txt")
LINES = {"plant a realistic bug": PLANTED, "is broken": MENDED}


def coached_line(told: str, said: int, first: bool) -> str | None:
    """What is said next in the conversation `told`, after `said` messages of the model; None where it is free. `first`:
    whether it is the first that begins so."""
    lines: Sequence[str] = next(lines for key, lines in LINES.items() if key in told)
    coached = first if said == 0 else lines[0] in told
    return lines[min(said, len(lines) - 1)] if coached else None
