"""Rules of ClusterPolicies drawn at random, of which most are as people write them."""

import json
from typing import Any, Final

from hypothesis import strategies as st

from chartkit.model import Body

_PATHS: Final[dict[str, tuple[str, ...]]] = {
    "Pod": (
        *("spec.containers", "spec.containers[].image", "spec.containers[*].securityContext"),
        *("spec.containers[0].name", "spec.hostNetwork", "spec.nodeSelector", "spec.volumes"),
        *("spec.initContainers[].resources.limits.memory", "spec.priority", "spec.nodeName"),
        *("spec.containers[].ports[].hostPort", "spec.securityContext.runAsUser"),
    ),
    "Deployment": (
        *("spec.replicas", "spec.template.spec.containers[].image", "spec.selector.matchLabels"),
        *("spec.template.metadata.labels", "spec.strategy.type", "spec.paused"),
    ),
    "ConfigMap": ("data", "data.a", 'data."a.b"', "immutable"),
    "Service": ("spec.type", "spec.ports[].port", "spec.externalIPs", "spec.clusterIP"),
    "example.com/v1/Widget": ("spec.size", "spec.names", "spec.parts[].name", "spec.on", "spec"),
}
_EVERYWHERE: Final = (
    *("metadata.name", "metadata.namespace", "metadata.labels", "metadata.labels.app"),
    *("metadata.annotations", 'metadata.annotations."a/b"', "metadata.ownerReferences[].kind"),
    "metadata.finalizers",
)
_OPERATORS: Final = (
    *("Equals", "NotEquals", "In", "AnyIn", "AllIn", "NotIn", "AnyNotIn", "AllNotIn"),
    *("GreaterThan", "GreaterThanOrEquals", "LessThan", "LessThanOrEquals"),
    *("DurationGreaterThan", "DurationLessThanOrEquals"),
)
_SCALARS: Final = st.sampled_from(
    [
        *("", "a", "*", "a-*", "?*", "5", "1.5", "true", "10s", "2h", "100m", "1Gi", "1-5", ">=2"),
        *(0, 1, 5, 1.5, True, False, None, "ghcr.io/*", "a | b", "!a"),
    ]
)
_CALLS: Final = (
    *("length(%s)", "to_string(%s)", "to_number(%s)", "to_upper(%s)", "to_lower(%s)", "keys(%s)"),
    *("values(%s)", "trim(%s, 'a')", "split(%s, '/')", "join(',', %s)", "contains(%s, 'a')"),
    *("starts_with(%s, 'a')", "ends_with(%s, 'a')", "regex_match('^a', %s)", "sum(%s)"),
    *("regex_replace_all('a', %s, 'b')", "replace_all(%s, 'a', 'b')", "max(%s)", "min(%s)"),
    *("sort(%s)", "reverse(%s)", 'merge(%s, `{"a": "b"}`)', "not_null(%s, 'a')", "type(%s)"),
    *("base64_encode(%s)", "base64_decode(%s)", "add(%s, `1`)", "divide(%s, `2`)", "to_array(%s)"),
    *("max_by(%s, &length(name))", "sort_by(%s, &name)", "map(&name, %s)", "items(%s, 'k', 'v')"),
    *("truncate(%s, `3`)", "parse_json(%s)", 'label_match(`{"app": "a"}`, %s)', "%s[?name=='a']"),
    *("%s | [0]", "%s && 'a'", "!%s", "%s == 'a'", "%s[].name", "semver_compare(%s, '>1.0.0')"),
    *("lookup(%s, 'a')", "time_since('', %s, '2026-01-01T00:00:00Z')", "parse_yaml(%s)", "%s.a"),
)
_DEFAULTS: Final = (
    "",
    " || ''",
    " || '*'",
    " || `0`",
    " || `false`",
    " || `[]`",
    " || `{}`",
    " || 'a'",
)


@st.composite
def _queries(draw: st.DrawFn, kind: str, roots: tuple[str, ...] = ("request.object",)) -> str:
    """Draw what a variable asks for; roots: what paths begin with."""
    root = draw(st.sampled_from(roots))
    paths = ("name", "image", "ports", "a") if root == "element" else (*_PATHS[kind], *_EVERYWHERE)
    query = f"{root}.{draw(st.sampled_from(paths))}"
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 1, 2]))):
        default = draw(st.sampled_from(_DEFAULTS))
        query = draw(st.sampled_from(_CALLS)) % (f"({query}{default})" if default else query)
    return query + draw(st.sampled_from(_DEFAULTS))


def _variables(kind: str, roots: tuple[str, ...]) -> st.SearchStrategy[str]:
    texts = st.sampled_from(["{{ %s }}", "{{ %s }}", "a-{{ %s }}"])
    return st.builds(lambda text, query: text % query, texts, _queries(kind, roots))


@st.composite
def _conditions(draw: st.DrawFn, kind: str, roots: tuple[str, ...] = ("request.object",)) -> Body:
    variables = _variables(kind, roots)
    single = _SCALARS | _SCALARS | variables
    values = single | st.lists(single, min_size=1, max_size=3)
    condition = st.fixed_dictionaries(
        {"key": variables, "operator": st.sampled_from(_OPERATORS), "value": values}
    )
    return {
        block: draw(st.lists(condition, min_size=1, max_size=2))
        for block in draw(st.sampled_from([["all"], ["any"], ["all", "any"]]))
    }


_ANCHORS: Final = ("%s", "%s", "%s", "=(%s)", "(%s)", "X(%s)", "^(%s)", "<(%s)")
_ADDED: Final = ("%s", "%s", "+(%s)", "(%s)")
_LISTS: Final = frozenset(("containers", "initContainers", "ports", "parts", "volumes"))


@st.composite
def _trees(
    draw: st.DrawFn, kind: str, anchors: tuple[str, ...], leaves: st.SearchStrategy[Any]
) -> Any:
    """Draw an object of a few of the paths of a kind, with anchors."""
    made: Body = {}
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from((*_PATHS[kind], *_EVERYWHERE)))
        steps = path.replace('"', "").split(".") if '"' not in path else path.split(".")[:2]
        _put(draw, made, steps, anchors, leaves)
    return made


def _put(
    draw: st.DrawFn,
    made: Body,
    steps: list[str],
    anchors: tuple[str, ...],
    leaves: st.SearchStrategy[Any],
) -> None:
    name, _, index = steps[0].partition("[")
    key = draw(st.sampled_from(anchors)) % name if name != "metadata" else name
    if len(steps) == 1:
        made[key] = [draw(leaves)] if index else draw(leaves)
        return
    below = made.get(key)
    inner: Body = below if isinstance(below, dict) else {}
    _put(draw, inner, steps[1:], anchors, leaves)
    if index or name in _LISTS:
        inner.setdefault(
            draw(st.sampled_from(["(name)", "name"])), draw(st.sampled_from(["a", "*"]))
        )
        made[key] = [inner]
    else:
        made[key] = inner


@st.composite
def _foreach(draw: st.DrawFn, kind: str, action: st.SearchStrategy[Body]) -> Body:
    lists = [path for path in _PATHS[kind] if "[" in path or path.split(".")[-1] in _LISTS]
    path = draw(st.sampled_from(lists or ["data.*"]))
    made: Body = {"list": f"request.object.{path.split('[')[0]}", **draw(action)}
    if draw(st.booleans()):
        made["preconditions"] = draw(_conditions(kind, ("element", "request.object")))
    return made


def _validations(kind: str) -> st.SearchStrategy[Body]:
    texts = _variables(kind, ("request.object",))
    leaves = _SCALARS | _SCALARS | texts
    denied = st.fixed_dictionaries(
        {"deny": st.fixed_dictionaries({"conditions": _conditions(kind, ("element",))})}
    )
    tree = _trees(kind, _ANCHORS, leaves)
    loops = st.lists(_foreach(kind, denied), min_size=1, max_size=2)
    conditions = st.fixed_dictionaries({"conditions": _conditions(kind)})
    bodies = st.one_of(
        st.fixed_dictionaries({"pattern": tree}),
        st.fixed_dictionaries({"anyPattern": st.lists(tree, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"deny": conditions}),
        st.fixed_dictionaries({"foreach": loops}),
    )
    messages = texts | st.just("m")
    return st.builds(lambda body, text: {"message": text, **body}, bodies, messages)


def _operations(kind: str) -> st.SearchStrategy[str]:
    paths = [path.split("[")[0].replace(".", "/") for path in _PATHS[kind] if '"' not in path]
    operation = st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "replace", "remove"]),
            "path": st.sampled_from([f"/{path}" for path in (*paths, "metadata/labels/app")]),
            "value": _SCALARS | _variables(kind, ("request.object",)) | st.just({"a": "b"}),
        }
    )
    return st.lists(operation, min_size=1, max_size=2).map(json.dumps)


def _mutations(kind: str) -> st.SearchStrategy[Body]:
    leaves = _SCALARS | _variables(kind, ("request.object",))
    merged = st.fixed_dictionaries({"patchStrategicMerge": _trees(kind, _ADDED, leaves)})
    patched = st.fixed_dictionaries({"patchesJson6902": _operations(kind)})
    loops = st.lists(_foreach(kind, merged | patched), min_size=1, max_size=1)
    return st.one_of(merged, patched, st.fixed_dictionaries({"foreach": loops}))


def _generated(kind: str) -> st.SearchStrategy[Body]:
    texts = _variables(kind, ("request.object",))
    return st.builds(
        lambda name, value, synchronize: {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": name,
            "namespace": "default",
            "synchronize": synchronize,
            "data": {"data": {"a": value}},
        },
        texts | st.just("made"),
        texts,
        st.booleans(),
    )


@st.composite
def legacy_rules(draw: st.DrawFn) -> Body:
    """Draw a rule that validates, mutates or generates."""
    kind = draw(st.sampled_from(sorted(_PATHS)))
    actions = {"validate": _validations, "mutate": _mutations, "generate": _generated}
    action = draw(
        st.sampled_from(["validate", "validate", "validate", "mutate", "mutate", "generate"])
    )
    rule: Body = {"name": "r", "match": {"any": [{"resources": {"kinds": [kind]}}]}}
    if draw(st.booleans()):
        rule["preconditions"] = draw(_conditions(kind))
    if draw(st.integers(0, 3)) == 0:
        entry = {"name": "v", "variable": {"jmesPath": draw(_queries(kind))}}
        rule["context"] = [entry]
        rule["preconditions"] = {"all": [{"key": "{{ v }}", "operator": "Equals", "value": "a"}]}
    return {**rule, action: draw(actions[action](kind))}
