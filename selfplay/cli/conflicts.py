"""Options that contradict each other, refused before anything is opened or written."""

from collections.abc import Sequence

import typer

from selfplay.rl.credit.rewards import CONTROLS as CONTROLS

WITHOUT_OPTIONS = ("scripted", "search", "naive", *CONTROLS)


def refuse(wrong: object, options: str, why: str) -> None:
    """Raises `typer.BadParameter`, which prints the usage and exits 2, where `wrong` holds."""
    if wrong:
        raise typer.BadParameter(why, param_hint=f"'{options}'")


def one_of(names: Sequence[str]) -> str:
    """`one, two or three`: the values that an option may have."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def refuse_isolation(sandbox: str, image: str | None, runtime: str | None) -> None:
    """`--image` and `--runtime` configure a Docker engine, so they need that backend."""
    for name, given in (("--image", image), ("--runtime", runtime)):
        refuse(given and sandbox != "docker", name, "needs --sandbox docker")


def refuse_policy(policy: str, base_url: str | None, api_key_env: str | None, options: list[str] | None) -> None:
    """Refuse an endpoint's address and key for a policy without an endpoint, and options for scripts and controls."""
    for name, given in (("--base-url", base_url), ("--api-key-env", api_key_env)):
        refuse(given and not policy.startswith("openai:"), name, f"needs --policy openai:MODEL, not {policy}")
    refuse(options and policy in WITHOUT_OPTIONS, "--option", f"the policy {policy} takes no options")
