"""What an API server makes of objects: recorded answers, idempotence, and odd shapes."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.documents.reader import read_file
from chartkit.model import Body, Location, Resource
from chartkit.scan.api_defaults import as_stored
from tests.data import from_table

RECORDED = Path(__file__).parent / "recorded"


def recorded() -> Iterator[Any]:
    for file in sorted(RECORDED.glob("*.yaml")):
        for document in read_file(file):
            body = document.body["given"]
            name = f"{body['kind']}-{body['metadata']['name']}"
            yield pytest.param(body, document.body["stored"], id=name)


CASES = list(recorded())
KINDS = sorted({(case.values[0]["apiVersion"], case.values[0]["kind"]) for case in CASES})


@pytest.mark.parametrize(("body", "stored"), CASES)
def test_an_object_is_as_the_server_stored_it(body: Body, stored: Body) -> None:
    assert as_stored(Resource(body)).body == stored


@pytest.mark.parametrize(("body", "stored"), CASES)
def test_what_is_stored_stays_as_it_is(body: Body, stored: Body) -> None:
    before = copy.deepcopy(body)
    once = as_stored(Resource(body))
    assert as_stored(once).body == once.body
    assert as_stored(Resource(stored)).body == stored
    assert body == before


def test_the_place_of_an_object_stays() -> None:
    place = Location("pod.yaml", 3)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}
    assert as_stored(Resource(pod, place)).location == place


@pytest.mark.parametrize(
    ("api_version", "kind"), [("example.com/v1", "Pod"), ("v1", "Shop"), ("apps/v1beta1", "Job")]
)
def test_an_object_of_another_kind_is_the_very_same(api_version: str, kind: str) -> None:
    given = Resource({"apiVersion": api_version, "kind": kind, "spec": None, "data": []})
    assert as_stored(given) is given


@from_table("image", "policy")
def test_the_pull_policy_follows_the_tag(image: object, policy: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"image": image}]}}
    container = as_stored(Resource(pod)).body["spec"]["containers"][0]
    assert container["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("amount", "stored"),
    [(0.5, "500m"), (2, "2"), ("1000m", "1"), ("100u", "1m"), ("1.5Gi", "1536Mi"), ("x", "x")],
)
def test_quantities_are_written_as_kubernetes_writes_them(amount: object, stored: str) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"cpu": amount}}}
    assert as_stored(Resource(quota)).body["spec"]["hard"] == {"cpu": stored}


@pytest.mark.parametrize("amount", [True, {"a": 1}, [1]])
def test_what_is_no_quantity_stays(amount: object) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"cpu": amount}}}
    assert as_stored(Resource(quota)).body["spec"]["hard"] == {"cpu": amount}


def test_the_priority_of_a_class_of_the_cluster_is_not_guessed() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"priorityClassName": "mine"}}
    assert "priority" not in as_stored(Resource(pod)).body["spec"]


@pytest.mark.parametrize("kind", [kind for _, kind in KINDS])
@pytest.mark.parametrize("spec", ["text", 7, [], [1], True, {"template": "text"}])
def test_a_spec_of_another_type_is_left_alone(kind: str, spec: object) -> None:
    version = next(version for version, one in KINDS if one == kind)
    body: Body = {"apiVersion": version, "kind": kind, "metadata": "text", "spec": spec}
    stored = as_stored(Resource(body)).body
    assert stored["metadata"] == "text"
    if isinstance(spec, dict):
        assert stored["spec"]["template"] == "text"
    elif spec:
        assert stored["spec"] == spec


LEAVES: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just([]) | st.just({})
)


@st.composite
def damaged(draw: st.DrawFn) -> Body:
    """A recorded object with some of its values replaced by what does not belong there."""
    body: Body = copy.deepcopy(draw(st.sampled_from(CASES)).values[0])
    places = [place for place in _places(body) if place[1] not in ("apiVersion", "kind")]
    for holder, key in draw(st.lists(st.sampled_from(places), max_size=4)):
        holder[key] = draw(LEAVES | st.lists(LEAVES, max_size=2))
    return body


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in members:
        yield value, key
        if isinstance(member, dict | list):
            yield from _places(member)


@given(damaged())
def test_a_damaged_object_is_filled_in_without_complaint_and_once(body: Body) -> None:
    before = copy.deepcopy(body)
    once = as_stored(Resource(body))
    assert as_stored(once).body == once.body
    assert body == before
