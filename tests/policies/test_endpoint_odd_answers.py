"""No endpoint at the address, one that refuses, and answers of which parts have another type."""

from typing import Any

import pytest
from policies.asking import ERROR, answering, ask, impatient
from recorded import serving

from selfplay.agent.model import ContextFull, ModelError

__all__ = ["impatient"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, "application/json", ERROR % ("bad key", "x")),
         r"refuses the key: .*bad key.*\n  Put a valid key into \$OPENAI_API_KEY\."),
        ((404, "application/json", ERROR % ("no such model", "x")), r"has no model 'm', or is not such an endpoint"),
        ((200, "text/html", "<html><body>Sign in</body></html>"),
         r"does not answer as an OpenAI-compatible endpoint: '<html>.*\n  --base-url usually ends with /v1\."),
        ((200, "application/json", "{not json"), r"does not answer as an OpenAI-compatible endpoint"),
        ((200, "application/json", '{"object": "list"}'), r"does not answer as an OpenAI-compatible endpoint"),
        ((200, "application/json", '{"id": "x", "choices": []}'), r"does not answer as an OpenAI-compatible endpoint"),
        ((200, "application/json", '{"id": "x", "choices": [{"index": 0}]}'), r"does not answer as an OpenAI-comp"),
        ((400, "application/json", ERROR % ("unknown field", "x")), r"rejects the request: .*unknown field"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("impatient")
def test_what_is_no_endpoint_is_said_before_anything_runs(answer: tuple[int, str, str], said: str) -> None:
    with serving(lambda request: answer) as (url, _), pytest.raises(ModelError, match=said):
        ask(url, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("value", [{"0": 1}, "abc", [None], [1], [{"message": "hi"}], [{"message": None}]])
@pytest.mark.usefixtures("impatient")
def test_choices_that_are_none_are_no_answer(value: Any) -> None:
    with serving(answering("choices", value)) as (url, _), pytest.raises(ModelError, match="as an OpenAI-compatible"):
        ask(url, check=True)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("usage", "none"), ("usage", {}), ("usage", [1]), ("usage", {"prompt_tokens": None, "completion_tokens": "x"}),
        ("tool_calls", [{"type": "function"}]), ("tool_calls", {"a": 1}), ("tool_calls", [None]), ("content", 5),
        ("token_ids", ["a", "b", "c", "d", "e"]), ("token_ids", [2**40] * 5), ("token_ids", [-1] * 5),
        ("prompt_token_ids", "abc"), ("prompt_token_ids", [[1]]), ("logprobs", [1]), ("logprobs", {"content": [1] * 5}),
        ("logprobs", {"content": [{"logprob": float("nan")}] * 5}), ("logprobs", {"content": [{"logprob": None}] * 5}),
    ],
)  # fmt: skip
def test_parts_of_another_kind_count_as_not_said(part: str, value: Any) -> None:
    with serving(answering(part, value)) as (url, _):
        (reply,) = ask(url, token_ids=True)
    assert reply.calls == () and reply.usage.requests == 1
    assert (reply.sample is None) == ("token" in part or part == "logprobs")
    assert (reply.usage.prompt_tokens == 0) == (part == "usage")


def test_nobody_there() -> None:
    with pytest.raises(ModelError, match=r"cannot be reached: .*\n  Check --base-url and the network"):
        ask("http://127.0.0.1:9/v1", retries=0)


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens", "prompt is too long: 8193 tokens > 8192 maximum",
        "the request exceeds the available context size of 8192 tokens", f"{'x' * 400} context length 8192",
        "The input token count (8193) exceeds the maximum number of tokens allowed (8192)",
    ],
)  # fmt: skip
def test_a_full_context_is_told_from_other_errors(said: str) -> None:
    answer = (400, "application/json", ERROR % (said, "x"))
    with serving(lambda request: answer) as (url, _), pytest.raises(ContextFull):
        ask(url)


def test_an_endpoint_that_refuses_to_return_ids_is_asked_without() -> None:
    def strict(request: dict[str, Any]) -> Any:
        if "return_token_ids" in request:
            return (400, "application/json", ERROR % ("Unrecognized request argument: return_token_ids", "x"))
        return "ready"

    with serving(strict) as (url, server):
        (reply,) = ask(url, check=True)
    assert reply.sample is None and ["return_token_ids" in request for request in server.requests] == [
        True,
        False,
        False,
    ]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("usage", "tokens"), [("9" * 4000, 0), ("-5", 0), ("7", 7), ("1e999", 0), ('"x"', 0), ("9" * 19, 10**12)]
)
def test_figures_that_no_answer_has_count_for_nothing(usage: str, tokens: int) -> None:
    said = f'{{"choices": [{{"message": {{"content": "x"}}}}], "usage": {{"prompt_tokens": {usage}}}}}'
    with serving(lambda request: (200, "application/json", said)) as (url, _):
        if len(usage) > 1000:
            with pytest.raises(ModelError, match="does not answer as an OpenAI-compatible endpoint"):
                ask(url, price_in=1.0)
            return
        (reply,) = ask(url, price_in=1.0)
    assert reply.usage.prompt_tokens == tokens
