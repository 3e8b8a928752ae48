"""Policies and objects of the wrong shape: typed errors and results, and soon."""

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chartkit.engine.policies import compile_any, is_exception, read_exceptions
from chartkit.errors import ChartkitError
from chartkit.model import Json, Resource, Status
from tests.cpu import ends_soon
from tests.data import tables
from tests.draws import draws
from tests.unit.engine.cel_policies.policies import (
    KUBERNETES,
    KYVERNO,
    PODS,
    explained,
    pod,
    policy,
    results,
    validating,
    variables,
)

"""Seconds, on a busy machine; without bounds these would take minutes, or the stack."""

KINDS = (
    "ValidatingPolicy",
    "NamespacedValidatingPolicy",
    "MutatingPolicy",
    "GeneratingPolicy",
    "DeletingPolicy",
    "ImageValidatingPolicy",
    "ValidatingAdmissionPolicy",
    "MutatingAdmissionPolicy",
    "PolicyException",
)
FIELDS = tables(__file__)["fields"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "expression", "key", "resourceRules", "template", "value", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
BOUNDED = settings(draws(60), derandomize=True)


def judged(body: Json) -> None:
    """Compiles a document and asks it about a Pod; only typed errors may leave."""
    resource = Resource(body)
    try:
        if is_exception(resource):
            read_exceptions([resource])
            return
        compile_any(resource)
    except ChartkitError:
        return
    if not resource.kind.endswith("DeletingPolicy"):
        assert explained(resource) == results(resource)


@BOUNDED
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4), VALUES)
def test_wrong_types_everywhere(kind: str, spec: Any, metadata: Json) -> None:
    api = KUBERNETES if "Admission" in kind else KYVERNO
    judged({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})
    body = {"apiVersion": api, "kind": kind, "metadata": {"name": "p"}}
    judged({**body, "spec": {"matchConstraints": PODS, **spec}})


@BOUNDED
@given(VALUES, VALUES)
def test_objects_of_any_shape(metadata: Json, spec: Json) -> None:
    selector = {"matchLabels": {"a": "b"}}
    found = validating(
        "object.spec.containers.all(c, c.image != '')",
        matchConstraints={**PODS, "objectSelector": selector, "namespaceSelector": selector},
    )
    subject = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    for one in (found, validating("object.spec.size() > 0")):
        told = results(one, Resource(subject))
        assert all(isinstance(each.status, Status) for each in told)
        assert explained(one, Resource(subject)) == told


@pytest.mark.parametrize(
    "metadata",
    [None, {}, [], {"labels": {"a": 1}}, {"labels": ["a"]}, {"name": 1, "namespace": {}}],
)
@pytest.mark.parametrize("kind", KINDS)
def test_documents_without_sound_metadata(kind: str, metadata: Json) -> None:
    api = KUBERNETES if "Admission" in kind else KYVERNO
    judged({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": {}})
    judged({"apiVersion": api, "kind": kind})


def _deep(levels: int) -> Json:
    value: Json = "x"
    for _ in range(levels):
        value = {"a": [value]}
    return value


_ROW = "[1,2,3,4,5,6,7,8,9]"
EXPLODING = (
    f"{_ROW}.map(a, {_ROW}.map(b, {_ROW}.map(c, {_ROW}.map(d, {_ROW}.map(e, {_ROW}))))).size() == 9"
)


@pytest.mark.parametrize(
    ("found", "subject"),
    [
        (validating("object.spec == object.spec"), pod(spec=_deep(5000))),
        (
            validating("object.spec.all(x, x != '')"),
            pod(spec={"k" + str(i): i for i in range(20000)}),
        ),
        (validating(EXPLODING), pod()),
        (validating("(" * 5000 + "true" + ")" * 5000), pod()),
        (
            validating(
                "variables.v15.size() > 0",
                variables=variables(
                    v0="'x'",
                    **{
                        f"v{i}": f"variables.v{i - 1} + variables.v{i - 1}" * 1
                        for i in range(1, 16)
                    },
                ),
            ),
            pod(),
        ),
        (
            policy(
                "MutatingPolicy",
                mutations=[
                    {
                        "patchType": "JSONPatch",
                        "jsonPatch": {
                            "expression": "[JSONPatch{op: 'add', path: '"
                            + "/a" * 5000
                            + "', value: 1}]"
                        },
                    }
                ],
            ),
            pod(),
        ),
        (
            policy(
                "MutatingPolicy",
                mutations=[
                    {
                        "patchType": "ApplyConfiguration",
                        "applyConfiguration": {
                            "expression": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"
                        },
                    }
                ],
            ),
            pod(spec=_deep(3000)),
        ),
    ],
)
def test_ends_soon(found: Resource, subject: Resource) -> None:
    results(validating("true"))  # what is made once for all policies
    with ends_soon(), contextlib.suppress(ChartkitError):
        results(found, subject)
        explained(found, subject)
