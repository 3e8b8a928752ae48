"""Rules of any shape are converted, left with a reason, or refused as Kyverno refuses them."""

import contextlib
import copy
from collections.abc import Iterator

import pytest

from chartkit.addons.migrate.convert import convert
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, Resource
from tests.addons.migrate.conversions import proved, same_result
from tests.data import from_table
from tests.objects import api_object

_IMMUTABLE = "{{ request.object.immutable || `false` }}"
_MATCH = {"any": [{"resources": {"kinds": ["Pod"], "namespaces": ["a-*"]}}]}
_CONDITIONS = {
    "all": [{"key": "{{ request.object.metadata.name }}", "operator": "AnyIn", "value": ["a"]}]
}
_RULES: dict[str, Body] = {
    "pattern": {
        "preconditions": _CONDITIONS,
        "context": [{"name": "v", "variable": {"jmesPath": "request.object.spec"}}],
        "validate": {
            "message": "{{ v.nodeName }}",
            "pattern": {"spec": {"=(containers)": [{"(name)": "a", "image": "!*:latest | a"}]}},
        },
    },
    "deny": {"exclude": _MATCH, "validate": {"message": "m", "deny": {"conditions": _CONDITIONS}}},
    "foreach": {
        "validate": {
            "message": "m",
            "foreach": [
                {
                    "list": "request.object.spec.containers[?name=='a']",
                    "preconditions": _CONDITIONS,
                    "deny": {"conditions": _CONDITIONS},
                }
            ],
        }
    },
    "merge": {
        "mutate": {
            "patchStrategicMerge": {
                "metadata": {"labels": {"+(a)": "b"}},
                "spec": {"containers": [{"(name)": "*", "image": "x"}]},
            }
        }
    },
    "patch": {"mutate": {"patchesJson6902": '- {op: add, path: "/metadata/labels/a", value: b}'}},
    "generate": {
        "generate": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "a",
            "namespace": "{{ request.object.metadata.name }}",
            "synchronize": True,
            "data": {"data": {"a": "b"}},
        }
    },
    "images": {
        "verifyImages": [
            {
                "imageReferences": ["ghcr.io/*"],
                "attestors": [{"entries": [{"keys": {"publicKeys": "k8s://a/b"}}]}],
            }
        ]
    },
}
_ODD: list[Json] = [None, 1.5, True, "", "{{ x", [], [[1]], {}, {"a": {"b": [1]}}]


def _changed(value: Json) -> Iterator[Json]:
    """Give the value with one part replaced by each odd one."""
    yield from _ODD
    if not isinstance(value, dict | list):
        return
    for key, member in list(value.items() if isinstance(value, dict) else enumerate(value)):
        for other in _changed(member):
            made = copy.copy(value)
            made[key] = other
            yield made


@pytest.mark.parametrize("kind", sorted(_RULES))
def test_no_shape_of_a_rule_is_a_bug(kind: str) -> None:
    rule = {"name": "r", "match": _MATCH, **_RULES[kind]}
    converted = 0
    for made in _changed(rule):
        body = api_object("kyverno.io/v1", "ClusterPolicy", "p", spec={"rules": [made]})
        with contextlib.suppress(ChartkitError):
            converted += convert(Resource(body)).complete
    assert converted or kind in ("generate", "images")


_QUERIES = (
    *("length()", "length(@, @)", "keys(@)", "to_upper(`5`)", "[0]", "@", "request", "a[::2]"),
    *("contains(request.object.metadata.name)", "split(request.object.metadata.name)"),
    *("label_match(`{}`)", "regex_match('(', 'a')", "sum(request.object.spec)", "join(',', `[1]`)"),
    *("request.object.spec.containers[::-1]", "request.object.spec.*.a", "a.b.c", "`{`", "((("),
)


@pytest.mark.parametrize("query", _QUERIES)
def test_no_query_is_a_bug(query: str) -> None:
    text = "{{ %s }}" % query  # noqa: UP031
    condition = {"key": text, "operator": "Equals", "value": text}
    rule = {
        "name": "r",
        "match": _MATCH,
        "validate": {"message": text, "deny": {"conditions": {"any": [condition]}}},
    }
    body = api_object("kyverno.io/v1", "ClusterPolicy", "p", spec={"rules": [rule]})
    with contextlib.suppress(ChartkitError):
        (outcome,) = convert(Resource(body)).outcomes
        assert outcome.reason or query == "`{`", "no variable of Kyverno's, so that it is a text"


@pytest.mark.parametrize("operator", ["AnyIn", "AllIn", "AnyNotIn", "AllNotIn"])
@pytest.mark.parametrize("value", [{"a": "b"}, ["a"]])
def test_objects_and_lists_among_the_values_of_a_boolean(operator: str, value: Json) -> None:
    condition = f"{{operator: {operator}, value: [{value}, 'true'], key: '{_IMMUTABLE}'}}"
    rule = f"validate: {{message: m, deny: {{conditions: {{all: [{condition}]}}}}}}"
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    results = [same_result(rule, {**config, "immutable": each}) for each in (True, False)]
    assert sorted(results) == ["allowed", "refused"]


@from_table("kind", "rule")
def test_odd_rules_are_proved(kind: str, rule: str) -> None:
    proved(rule, kind)
