"""Functions that ask the world: what they ask and what they make of the answers."""

from collections.abc import Mapping, Sequence
from random import Random

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.go.strconv import Int64
from chartkit.model import Body, Json
from tests.data import from_table
from tests.errors import error_of
from tests.unit.engine.cel.library.kyverno.evaluation import value


class _Asked(Host):
    """Keeps what it was asked."""

    policy_namespace = "own"

    def __init__(self) -> None:
        self.questions: list[object] = []

    def get_resource(
        self, api_version: str, resource: str, namespace: str, name: str, /
    ) -> Body | None:
        self.questions.append((api_version, resource, namespace, name))
        return None

    def post_resource(self, api_version: str, resource: str, namespace: str, body: Body, /) -> Body:
        self.questions.append((api_version, resource, namespace))
        return body

    def plural(self, _api_version: str, kind: str, /) -> str:
        return f"{kind.lower()}s"

    def http(
        self, method: str, url: str, headers: Mapping[str, str], body: Json, _ca: str, /
    ) -> Json:
        self.questions.append((method, url, dict(headers), body))
        return {"n": 1, "statusCode": Int64(200)}

    def generate(self, namespace: str, resources: Sequence[Body], /) -> None:
        self.questions.append((namespace, list(resources)))

    def random_below(self, limit: int, /) -> int:
        return Random(limit).randrange(limit)


def test_an_object_that_is_not_there_is_null() -> None:
    host = _Asked()
    assert value("resource.Get('v1', 'pods', 'd', 'x')", host) is None
    assert host.questions == [("v1", "pods", "d", "x")]


def test_a_resource_of_a_kind_is_asked_for_by_its_version() -> None:
    host = _Asked()
    value("resource.get(resource.toGVR('apps/v1', 'Deployment'), 'd', 'x')", host)
    assert host.questions == [("apps/v1", "deployments", "d", "x")]


def test_a_policy_of_a_namespace_asks_in_its_own() -> None:
    host = _Asked()
    value("resource.get('v1', 'pods', 'x')", host, "nvpol")
    value("generator.apply([{'kind': dyn('X')}])", host, "ngpol")
    assert host.questions == [("v1", "pods", "own", "x"), ("own", [{"kind": "X"}])]


@from_table("written", "sent")
def test_data_is_sent_as_protobuf_has_json(written: str, sent: Json) -> None:
    assert value(f"resource.post('v1', 'x', 'd', {{'a': dyn({written})}}).a", _Asked()) == sent
    host = _Asked()
    value(f"http.post('http://s', dyn({written}))", host)
    assert host.questions == [("POST", "http://s", {}, sent)]


@from_table("expression", "message")
def test_a_call_fails_in_kyvernos_words(expression: str, message: str) -> None:
    assert str(error_of(CelError, value, expression, _Asked())) == message


def test_numbers_of_an_answer_are_doubles_but_for_its_status() -> None:
    answer = value("http.get('http://s')", _Asked())
    assert isinstance(answer, dict)
    assert [type(answer["n"]), type(answer["statusCode"])] == [float, int]


def test_chance_comes_from_the_host() -> None:
    assert value("random()", _Asked()) == value("random.random()", _Asked())
