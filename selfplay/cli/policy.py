"""The options that choose the policy; the same for every command that plays episodes."""

from typing import Annotated

import typer

from selfplay.cli.conflicts import WITHOUT_OPTIONS, refuse, refuse_policy

PolicyName = Annotated[
    str, typer.Option("--policy", help="Who plays: scripted, openai:MODEL, vllm:PATH or transformers:PATH.")
]
BaseUrl = Annotated[
    str | None, typer.Option(help="openai: the endpoint, as https://host/v1 (or OPENAI_BASE_URL in the environment).")
]
ApiKeyEnv = Annotated[
    str | None, typer.Option(help="openai: the environment variable with the key (OPENAI_API_KEY if not given).")
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option", help="An option of the policy, NAME=VALUE, such as episodes=32, staged=true or temperature=0.7."
    ),
]


def policy_options(base_url: str | None, api_key_env: str | None, option: list[str] | None) -> dict[str, str]:
    """The options by name, as `player_named` takes them."""
    named: dict[str, str] = {}
    for pair in option or ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--option")
        refuse((key := name.replace("-", "_")) in named, "--option", f"{name} is given twice")
        named[key] = value
    for key, given in (("base_url", base_url), ("api_key_env", api_key_env)):
        refuse(given and key in named, f"--{key.replace('_', '-')}", "is given twice, the second time as an --option")
        named |= {key: given} if given else {}
    return named


def player_options(
    policy: str, base_url: str | None, api_key_env: str | None, option: list[str] | None, plays: bool = True
) -> dict[str, str]:
    """The same for a policy that plays, which must know them: refused before anything is opened or shown. `plays`:
    False where the policy is only the name of stored attempts."""
    refuse_policy(policy, base_url, api_key_env, option)
    options = policy_options(base_url, api_key_env, option)
    if plays and policy not in WITHOUT_OPTIONS:
        from selfplay.rollout.players import player_named

        player_named(policy, options)
    return options
