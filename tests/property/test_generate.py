"""Generate rules and cleanup policies of any shape end in results and typed errors alone."""

import copy
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chartkit.engine.cleanup import plan_deletions, read_cleanup_policy
from chartkit.engine.cli_files.world import UserApi
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.context.global_context import read_global_context_entry
from chartkit.engine.policies import evaluate
from chartkit.engine.ports.services import Cluster
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import Operation, Request
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, Resource, Status
from tests.objects import api_object

NOW = datetime(2030, 1, 1, tzinfo=UTC)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
TEXTS = st.sampled_from(
    ("v1", "ConfigMap", "a", "", "{{ element }}", "{{ elementIndex }}", "{{ request.object.kind }}")
)
BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "apiVersion": TEXTS | VALUES,
        "kind": TEXTS | VALUES,
        "name": TEXTS | VALUES,
        "namespace": TEXTS | VALUES,
        "data": VALUES | st.fixed_dictionaries({"metadata": VALUES, "data": VALUES}),
        "clone": VALUES | st.just({"name": "a", "namespace": "b"}),
        "cloneList": VALUES | st.fixed_dictionaries({"kinds": st.lists(TEXTS), "namespace": TEXTS}),
        "synchronize": st.booleans() | VALUES,
    },
)
LOOPS = st.lists(
    st.builds(
        lambda block, text: {**block, "list": text},
        BLOCKS,
        st.sampled_from(("`[1, null, {}]`", "request.object", "`[`", "")),
    ),
    max_size=2,
)
"""Blocks of any shape, mostly with the fields that Kyverno knows."""


def _policy(generate: Json) -> Resource:
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    rules = [{"name": "g", "match": match, "generate": generate}]
    return Resource(api_object("kyverno.io/v1", "ClusterPolicy", "p", spec={"rules": rules}))


@given(BLOCKS | st.builds(lambda loops: {"foreach": loops}, LOOPS), VALUES, VALUES)
def test_generate_rules(generate: Body, metadata: Json, other: Json) -> None:
    trigger: Body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    there: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": other}
    before = copy.deepcopy((generate, trigger, there))
    try:
        compiled = compile_policy(_policy(generate))
    except ChartkitError:
        return
    world = World(UserApi(Cluster([there])))
    for operation in Operation:
        for result in evaluate([compiled], Request(Resource(trigger), None, operation), world):
            assert result.status in Status
            assert all(isinstance(one["metadata"]["labels"], dict) for one in result.generated)
    assert (generate, trigger, there) == before


@given(VALUES, VALUES, VALUES, VALUES)
def test_cleanup_policies(match: Json, conditions: Json, schedule: Json, metadata: Json) -> None:
    spec: dict[str, Any] = {"match": match, "conditions": conditions, "schedule": schedule}
    pod = Resource({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
    policies = []
    for body in (spec, {"match": {}, "schedule": "* * * * *"}):
        head = {"apiVersion": "kyverno.io/v2", "kind": "CleanupPolicy", "metadata": {"name": "p"}}
        try:
            policies.append(read_cleanup_policy(Resource({**head, "spec": body})))
        except ChartkitError:
            continue
    deletions, _ = plan_deletions(policies, [pod], NOW, {})
    assert all(one.time >= NOW for one in deletions)


@given(VALUES, VALUES, VALUES)
def test_global_context_entries(listed: Json, call: Json, projections: Json) -> None:
    spec = {"kubernetesResource": listed, "apiCall": call, "projections": projections}
    head = {"apiVersion": "kyverno.io/v2", "kind": "GlobalContextEntry", "metadata": {"name": "e"}}
    try:
        entry = read_global_context_entry(Resource({**head, "spec": spec}))
        entry.data("", OFFLINE)
    except ChartkitError:
        pass
