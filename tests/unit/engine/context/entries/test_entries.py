"""Context entries: what they load, the errors they give, and what Kyverno refuses."""

import json

import pytest

from chartkit.engine.cli_files.world import UserApi, UserGlobalContext, UserMocks
from chartkit.engine.context.context import Context, QueryError
from chartkit.engine.context.entries import check_entries, compile_entries
from chartkit.engine.ports.services import ServiceAnswer, ServiceCall
from chartkit.engine.ports.world import NOBODY_ELSE, OFFLINE, Credentials, OfflineImages, World
from chartkit.errors import EvaluationError, LookupFailed, NoSource
from chartkit.model import Body, Json
from tests.data import from_table
from tests.errors import error_of

DATA: dict[str, Json] = {"request": {"object": {"s": "abc", "i": 5, "n": None}}}


class _Api(UserApi):
    """Answers with what it was asked."""

    def call(self, method: str, path: str, data: Json, /) -> Json:
        if path == "/missing":
            raise LookupFailed("not found")
        return {"method": method, "path": path, "data": data}


class _Services:
    """Answers with what it was asked."""

    def ask(self, call: ServiceCall, /) -> ServiceAnswer:
        sent = {"method": call.method, "url": call.url, "headers": dict(call.headers)}
        data = None if call.body is None else call.body.decode()
        return ServiceAnswer(200, "OK", json.dumps({**sent, "data": data}).encode())


class _Images(OfflineImages):
    """Resolves every reference to one digest."""

    def image(self, reference: str, _credentials: Credentials = NOBODY_ELSE, /) -> Body:
        return {"resolvedImage": f"{reference}@sha256:1"}


WORLD = World(
    _Api(
        configmaps=[{"metadata": {"name": "c", "namespace": "n"}, "data": {"k": "v"}, "kind": "x"}]
    ),
    services=_Services(),
    images=_Images(),
    global_context=UserGlobalContext([{"name": "g", "data": {"p": [1, 2]}}]),
)


def _context(*entries: Body, world: World = WORLD, namespace: str = "") -> Context:
    context = Context(dict(DATA), world).child()
    compile_entries(entries, namespace=namespace).attach(context)
    return context


def _load(body: Body, *, world: World = WORLD, namespace: str = "") -> Json:
    return _context({"name": "x", **body}, world=world, namespace=namespace).query_text("x")


@from_table("variable", "expected")
def test_entries_variable(variable: Body, expected: Json) -> None:
    assert _load({"variable": variable}) == expected


@from_table("variable", "message")
def test_variable_errors(variable: Body, message: str) -> None:
    assert error_of(EvaluationError, _load, {"variable": variable}).message.startswith(message)


@from_table("body", "expected")
def test_entries_outside(body: Body, expected: Json) -> None:
    assert _load(body) == expected


@from_table("body", "namespace", "message")
def test_outside_errors(body: Body, namespace: str, message: str) -> None:
    assert error_of(EvaluationError, _load, body, namespace=namespace).message.startswith(message)


NO_TEXT = [
    ("true", "bool", "bool"),
    ("request.object.i", "number", "float64"),
    ("request.object", "object", "map[string]interface {}"),
    ("request.object.*", "array", "[]interface {}"),
]


@pytest.mark.parametrize(("query", "json_type", "go_type"), NO_TEXT)
def test_a_query_that_resolves_to_no_text(query: str, json_type: str, go_type: str) -> None:
    found = "`true`" if query == "true" else query
    path = f"{{{{ {found} }}}}"
    unconverted = f"interface conversion: interface {{}} is {go_type}, not string"
    for body, message in (
        (
            {"globalReference": {"name": "g", "jmesPath": path}},
            "failed to marshal APICall data for context entry x: json: cannot unmarshal "
            f"{json_type} into Go struct field GlobalContextEntryReference.jmesPath of type string",
        ),
        (
            {"globalReference": {"name": path}},
            "failed to marshal APICall data for context entry x: json: cannot unmarshal "
            f"{json_type} into Go struct field GlobalContextEntryReference.name of type string",
        ),
        ({"imageRegistry": {"reference": "a", "jmesPath": path}}, unconverted),
        (
            {"apiCall": {"urlPath": "/a", "jmesPath": path}},
            f"failed to store data for APICall: {unconverted}",
        ),
        (
            {"variable": {"value": 1, "jmesPath": path}},
            f"jmespath value must be a string x {path}: <nil>",
        ),
    ):
        assert error_of(EvaluationError, _load, body).message == message


@from_table("body")
def test_what_has_no_source_is_left_out(body: Body) -> None:
    with pytest.raises(QueryError, match='Unknown key "x" in path'):
        _load(body, world=OFFLINE)


def test_calls_that_nobody_answers_reach_the_rule() -> None:
    with pytest.raises(NoSource, match=r"^context entry x: the call cannot be made"):
        _load({"apiCall": {"urlPath": "/a", "default": 1}}, world=OFFLINE)


def test_unused_entries_are_not_loaded() -> None:
    context = _context({"name": "x", "variable": {"value": "{{ request.object.zz }}"}})
    assert context.query_text("request.object.s") == "abc"


@from_table("name", "query", "names")
def test_which_queries_name_an_entry(name: str, query: str, names: bool) -> None:
    context = _context({"name": name, "variable": {"value": "v"}})
    (slot,) = context._slots
    assert slot.loader.matches(query) is names


def test_names_that_cannot_be_looked_for() -> None:
    message = r"^failed to create deferred loader for context entry \($"
    with pytest.raises(EvaluationError, match=message):
        _context({"name": "(", "variable": {"value": 1}})


def test_recorded_answers_are_taken_at_once() -> None:
    mocks = UserMocks(
        api_calls=[
            {"urlPath": "/a/abc", "response": {"body": {"v": 1}}},
            {"urlPath": "/bad", "response": {"statusCode": 404, "body": {}}},
            {"url": "https://s", "method": "POST", "response": {"body": "posted"}},
        ]
    )
    world = World(mocks=mocks)
    called = {"name": "x", "apiCall": {"urlPath": "/a/{{ request.object.s }}", "jmesPath": "v"}}
    assert _context(called, world=world).data["x"] == 1
    post = {"name": "x", "apiCall": {"method": "POST", "service": {"url": "https://s"}}}
    assert _context(post, world=world).data["x"] == "posted"
    bad = {"name": "x", "apiCall": {"urlPath": "/bad", "default": 1}}
    with pytest.raises(EvaluationError, match=r'^HTTP 404 from apiCall mock for context entry "x"'):
        _context(bad, world=world)


@from_table("entry")
def test_entries_check_sound(entry: Body) -> None:
    assert check_entries([{"name": "x", **entry}]) is None


@from_table("entry", "fault")
def test_entries_check_faults(entry: Body, fault: str) -> None:
    found = check_entries([{"name": "first", "variable": {"value": 1}}, entry])
    assert found is not None
    assert found.startswith(fault)


def test_cel_takes_no_entries() -> None:
    assert check_entries([], cel=True) is None
    fault = check_entries([{"name": "x"}], cel=True)
    assert fault == "context variables are not supported for CEL expressions in validate rules"
