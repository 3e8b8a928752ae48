"""Substitution: whole and embedded variables, passes, escapes, errors."""

import pytest

from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import SubstitutionError, compile_template
from chartkit.engine.ports.world import OFFLINE
from chartkit.go.strconv import Int64
from chartkit.model import Json
from tests.data import from_table, tables

_TABLES = tables(__file__)

DATA = _TABLES["data"]


def _resolve(value: Json, *, path: str = "", is_delete: bool = False) -> Json:
    return compile_template(value, path).resolve(Context(DATA, OFFLINE, is_delete))


@pytest.mark.parametrize("value", [None, True, 5, 1.5, "x", "a $ {b} }}", [], {}, {"a": ["b", 1]}])
def test_constants_come_back_themselves(value: Json) -> None:
    template = compile_template(value)
    assert template.is_constant
    assert template.resolve(Context({})) is value


@from_table("text", "expected")
def test_whole_variable_keeps_its_type(text: str, expected: Json) -> None:
    assert _resolve(text) == expected


@from_table("text", "expected")
def test_embedded_variables(text: str, expected: str | None) -> None:
    expected = expected or '-<x> {"a":"\\u003cx\\u003e","t":"abc"}'
    assert _resolve(text) == expected


def test_numbers_of_go_keep_their_kind() -> None:
    context = Context({"index": Int64(1000000), "number": 1000000, "large": 1e21})
    text = "{{ index }} {{ number }} {{ large }}"
    assert compile_template(text).resolve(context) == "1000000 1000000 1e+21"


def test_containers_and_keys() -> None:
    value = {"{{ request.object.s }}": ["{{ request.object.i }}", "k"], "n": {"a": 1}}
    assert _resolve(value) == {"abc": [5, "k"], "n": {"a": 1}}
    assert _resolve({"{{ request.object.n }}": 1}) == {"{{ request.object.n }}": 1}
    with pytest.raises(SubstitutionError, match=r"^expected string after substituting variables"):
        _resolve({"{{ request.object.i }}": 1})


def test_document_is_not_changed() -> None:
    value = {"a": "{{ request.object.s }}"}
    _resolve(value)
    assert value == {"a": "{{ request.object.s }}"}


@from_table("value", "message")
def test_template_errors(value: Json, message: str) -> None:
    with pytest.raises(SubstitutionError) as raised:
        _resolve(value)
    assert raised.value.message.startswith(message)


def test_syntax_errors_are_raised_when_resolved() -> None:
    template = compile_template("{{ a b }}")
    with pytest.raises(
        SubstitutionError,
        match=r"^failed to resolve a b at path : incorrect query a b: Syntax",
    ):
        template.resolve(Context({}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["x{{ request.object.self }}", "{{ request.object.more }}!", "{{ request.object.deep }}"],
)
def test_variables_that_name_each_other_end(text: str) -> None:
    with pytest.raises(SubstitutionError, match=r"they name each other without end$"):
        _resolve(text)


def test_delete_means_the_old_object() -> None:
    assert _resolve("{{ request.object.s }}", is_delete=True) == "old"
    assert _resolve("x{{ request.object.s }}", is_delete=True) == "xold"


def test_own_value() -> None:
    assert _resolve("{{ @ }}", path="/validate/pattern/s") == "abc"
    assert _resolve("{{ @ }}", path="/mutate/foreach/0/patchStrategicMerge/i") == 5
    context = Context({**DATA, "target": {"s": "target's"}})
    assert compile_template("{{@}}", "/mutate/x/s").resolve(context) == "target's"
