"""What a user sees of a training run: a step as a line."""

from selfplay.update.batch.figures import UpdateFigures


def told(step: int, steps: int, figures: UpdateFigures, seconds: float) -> str:
    """A step as a line of text."""
    parts = [f"step {step + 1} of {steps}"]
    for role, found in figures["rollouts"].items():
        reward = f", reward {found['reward']['mean']:+.2f}" if found["reward"] else ""
        parts.append(f"{role} {found['trained_on']} of {found['episodes']} teach{reward}")
    norm = figures["step"]
    if norm is None:
        parts.append("nothing to learn, no update")
    else:
        both = figures["tokens"]["both"]
        parts.append(f"loss {norm['loss']:.3g}, gradient {norm['gradient']:.3g}, ratio {both['ratio']:.3f}")
        parts.append(f"entropy {both['entropy']:.2f}")
    return "; ".join([*parts, f"{seconds:.0f} s"])
