"""Variables: where they stand, what they refer to, and what takes their place."""

import pytest

from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import (
    SubstitutionError,
    UnresolvedReferenceError,
    compile_template,
    has_variable,
)
from chartkit.engine.context.variables.syntax import (
    find_variables,
    join_path,
    own_query,
    resolve_references,
    split_text,
    unescape,
)
from chartkit.engine.ports.world import OFFLINE
from chartkit.go.strconv import Int64
from chartkit.model import Json
from tests.data import from_table, tables
from tests.errors import error_of

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
    assert error_of(SubstitutionError, _resolve, value).message.startswith(message)


def test_syntax_errors_are_raised_when_resolved() -> None:
    template = compile_template("{{ a b }}")
    with pytest.raises(
        SubstitutionError, match=r"^failed to resolve a b at path : incorrect query a b: Syntax"
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


@from_table("path", "query")
def test_own_query(path: str, query: str) -> None:
    assert own_query(path, "request.object") == query


def test_join_path() -> None:
    assert join_path("/a", "b/c") == "/a/b\\/c"


@from_table("text", "expected")
def test_references_resolved(text: str, expected: str) -> None:
    document = {"a": text, "b": "two", "c": {"d": "deep", "=(e)": "anchored"}, "n": 5, "f": 1.5}
    assert resolve_references(document)["a"] == expected


@from_table("text", "message")
def test_references_faults(text: str, message: str) -> None:
    error = error_of(UnresolvedReferenceError, resolve_references, {"a": text, "n": 5, "t": True})
    assert error.message.startswith(message) or text == "$(>)"


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


@from_table("text", "queries")
def test_find_variables(text: str, queries: list[str]) -> None:
    variables = find_variables(text)
    assert [variable.query for variable in variables] == queries
    assert has_variable(text) is bool(queries)
    assert len(split_text(text, variables)) == len(queries) + 1


def test_syntax_shallow() -> None:
    (plain,), (shallow,) = find_variables("{{ a }}"), find_variables("{{-a}}")
    assert (plain.shallow, shallow.shallow) == (False, True)
    assert shallow.query == "a"


def test_syntax_unescape() -> None:
    assert unescape("a \\{{ b }} {{") == "a {{ b }} {{"


def test_long_texts_are_quick() -> None:
    assert find_variables("{{" + "a" * 100_000) == []
    assert find_variables("{{ {" * 20_000) == []
