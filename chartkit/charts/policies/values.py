"""values.yaml and values_<env>.yaml of the policies chart."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from chartkit.output.commented_yaml import Path, comment, commented
from chartkit.library.policy import LibraryPolicy
from chartkit.charts.policies.values_schema import BASELINE, Catalogue, RESTRICTED
from chartkit.library.profiles import Resolved
from chartkit.project.project import Environment, Exclusion
from chartkit.model import Body

_STANDARDS: Mapping[str, tuple[str, ...]] = {
    "privileged": (),
    "baseline": (BASELINE,),
    "restricted": (BASELINE, RESTRICTED),
}


def base_values(catalogue: Catalogue, resolved: Resolved, schema: Body) -> Body:
    """Every value of the chart: the schema's defaults under what the profiles say."""
    values = {
        key: copy.deepcopy(body["default"])
        for key, body in schema["properties"].items()
        if "default" in body
    }
    values["profiles"] = list(resolved.profiles)
    shared = catalogue.shared_parameters
    values["parameters"] = {name: body["default"] for name, body in shared.items()} | {
        name: value for name, value in resolved.parameters.items() if name in shared
    }
    standard, switched = _standard(catalogue, resolved)
    values["podSecurityStandard"] = standard
    values["policies"] = {
        policy.name: _policy_values(policy, resolved, switched.get(policy.name))
        for policy in catalogue.policies
    }
    return values


def environment_values(
    environment: Environment, catalogue: Catalogue, resolved: Resolved, base: Body, schema: Body
) -> Body:
    """What an environment's values say otherwise than base; null takes a key of base away."""
    own = {
        **base_values(catalogue, resolved, schema),
        "kyvernoVersion": str(environment.kyverno),
        "validationFailureAction": environment.action.value,
        "exclude": _filters(environment.exclude),
    }
    if environment.policy_type is not None:
        own["policyType"] = environment.policy_type.value
    for name, body in own["policies"].items():
        if body["enabled"] is None and base["policies"][name]["enabled"] is not None:
            given = resolved.policies.get(name)
            body["enabled"] = given is not None and given.enabled
    return _difference(own, base)


def values_text(values: Body, schema: Body, header: str) -> str:
    """A values file: what each key means stands above it, from the schema."""

    def comments(path: Path) -> str:
        return _description(schema, path)

    return f"{comment(header)}\n\n{commented(values, comments)}"


def environment_text(
    environment: Environment, resolved: Resolved, values: Body, schema: Body, header: str
) -> str:
    """An environment's values file; why something is excluded stands above it."""
    reasons: dict[Path, Sequence[Exclusion]] = {("exclude", "any"): environment.exclude} | {
        ("policies", name, "exclude", "any"): policy.exclude
        for name, policy in resolved.policies.items()
    }

    def comments(path: Path) -> str:
        last = path[-1]
        if isinstance(last, int):
            return reasons[path[:-1]][last].reason if path[:-1] in reasons else ""
        return _first_sentence(_description(schema, path))

    return f"{comment(header)}\n\n{commented(values, comments)}"


def _description(schema: Body, path: Path) -> str:
    """What the schema says of the key at a path, where each file or policy says it anew."""
    if len(path) > 1 and path[-2] not in ("parameters", "policies") and path[2:] != ("exclude",):
        return ""
    node = schema
    for step in path:
        node = _resolved(schema, node.get("properties", {}).get(step, {}))
    text: str = node.get("description", "")
    return text


def _resolved(schema: Body, node: Body) -> Body:
    if "$ref" not in node:
        return node
    target = schema
    for part in node["$ref"].split("/")[1:]:
        target = target[part]
    return target


def _first_sentence(text: str) -> str:
    sentence, stop, _ = text.partition(". ")
    return sentence + "." if stop else text


def _standard(catalogue: Catalogue, resolved: Resolved) -> tuple[str, dict[str, bool]]:
    """The standard that comes nearest, and the policies that have to be switched beside it."""
    enabled = {name for name, each in resolved.policies.items() if each.enabled}
    candidates = [
        (
            standard,
            {
                policy.name: policy.name in enabled
                for policy in catalogue.policies
                if (catalogue.standing.get(policy.name) in groups) != (policy.name in enabled)
            },
        )
        for standard, groups in _STANDARDS.items()
    ]
    return min(reversed(candidates), key=lambda candidate: len(candidate[1]))


def _policy_values(policy: LibraryPolicy, resolved: Resolved, enabled: bool | None) -> Body:
    given = resolved.policies.get(policy.name)
    action = given.action.value if given and given.action else None
    values: Body = {"enabled": enabled, "action": action}
    if given and given.exclude:
        values["exclude"] = _filters(given.exclude)
    parameters = {name: each.default for name, each in policy.parameters.items() if not each.shared}
    parameters |= {name: value for name, value in resolved.parameters.items() if name in parameters}
    parameters |= given.parameters if given else {}
    return values | ({"parameters": parameters} if parameters else {})


def _filters(exclusions: Sequence[Exclusion]) -> Body:
    return (
        {"any": [{"resources": dict(each.resources)} for each in exclusions]} if exclusions else {}
    )


def _difference(own: Body, base: Body) -> Body:
    found: Body = {key: None for key in base if key not in own}
    for key, value in own.items():
        if key not in base:
            found[key] = value
        elif isinstance(value, dict) and isinstance(base[key], dict):
            inner = _difference(value, base[key])
            if inner:
                found[key] = inner
        elif value != base[key]:
            found[key] = value
    return found
