"""References inside a document."""

import pytest

from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import (
    SubstitutionError,
    UnresolvedReferenceError,
    compile_template,
)
from chartkit.engine.context.variables.syntax import resolve_references
from chartkit.model import Json
from tests.data import from_table


@from_table("text", "expected")
def test_references_resolved(text: str, expected: str) -> None:
    document = {"a": text, "b": "two", "c": {"d": "deep", "=(e)": "anchored"}, "n": 5, "f": 1.5}
    assert resolve_references(document)["a"] == expected


@from_table("text", "message")
def test_references_faults(text: str, message: str) -> None:
    with pytest.raises(UnresolvedReferenceError) as raised:
        resolve_references({"a": text, "n": 5, "t": True})
    assert raised.value.message.startswith(message) or text == "$(>)"


@pytest.mark.parametrize("document", [None, 5, "x", {"a": ["b"]}])
def test_documents_without_references_come_back_themselves(document: Json) -> None:
    assert resolve_references(document) is document


def test_references_come_before_variables() -> None:
    template = compile_template({"a": "$(./../b)!", "b": "{{ x }}"})
    assert template.resolve(Context({"x": "v"})) == {"a": "v!", "b": "v"}


def test_faults_are_raised_on_resolve() -> None:
    template = compile_template("$(./../x)")
    assert not template.is_constant
    with pytest.raises(SubstitutionError, match="got nil resolved variable"):
        template.resolve(Context({}))
