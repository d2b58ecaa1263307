"""What is wrong with a value is said in our words, whatever library found it."""

from string import Formatter
from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core.core_schema import ErrorType

from selfplay.artifact.decoding import first_fault
from selfplay.options import MISSED, WORDS, _said, fault


class Part(BaseModel):
    """A table with one number in it."""

    size: int


KINDS: tuple[tuple[Any, Any, str], ...] = (
    (int, "x", "a whole number is needed, not 'x'"),
    (Annotated[str, Field(max_length=2)], "long", "at most 2 characters are needed, not 'long'"),
    (Annotated[str, Field(pattern="^a+$")], "b", "a text of the form ^a+$ is needed, not 'b'"),
    (Annotated[list[int], Field(max_length=1)], [1, 2], "a length of at most 1 is needed, not a list of 2 values"),
    (tuple[str, ...], {"a": 1}, "a list is needed, not a table of 1 value"),
    (Part, [], "settings are needed (NAME: VALUE), not a list of 0 values"),
    (Part, {}, "it is missing"),
    (Literal["a", "b"], None, "'a' or 'b' is needed, not null"),
    (Annotated[int, Field(multiple_of=2)], 3, "another value is needed, not 3"),
)


@pytest.mark.parametrize(("kind", "value", "said"), KINDS)
def test_each_kind_of_fault_has_words(kind: Any, value: Any, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    assert fault(caught.value, value)[1] == said


def test_no_words_of_the_library_reach_a_reader() -> None:
    """Of all the faults that pydantic knows: what is not in our table is told by its value alone."""
    known = get_args(ErrorType)
    named = [kind for kind in known if any(kind == word or kind.startswith(f"{word}_") for word in WORDS)]
    assert len(known) > 90 and {"int_type", "string_type", "model_type", "tuple_type"} <= set(named)
    context = {name: 1 for word in WORDS.values() for _, name, _, _ in Formatter().parse(word) if name}
    own = {"value_error", *MISSED, "extra_forbidden", "unexpected_keyword_argument"}  # a message of ours, or no value
    for kind in set(known) - own:
        said = _said(kind, "Input should be another", context, "x")
        assert "Input" not in said and said.endswith(", not 'x'")


def test_a_document_is_told_from_its_part() -> None:
    for value, said in (
        ([], "the document: an object (NAME: VALUE) is needed"),
        ({"size": "x"}, "size: a whole number"),
    ):
        with pytest.raises(ValidationError) as caught:
            Part.model_validate(value)
        assert first_fault(caught.value, value).startswith(said)
        assert first_fault(caught.value).startswith(said)


def test_a_long_value_is_cut() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(int).validate_python("9" * 100_000)
    assert len(fault(caught.value, "9" * 100_000)[1]) < 300
