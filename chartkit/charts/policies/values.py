"""values.yaml, values_<env>.yaml and README.md of the policies chart.

values.yaml has one entry for each policy: its parameters with their defaults, and what the profiles
set. What a key means is above it, as helm-docs and Artifact Hub read it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Final

from chartkit.charts.plan import ALLOWED, POLICIES, difference, page
from chartkit.charts.policies.values_schema import BASELINE, RESTRICTED, Catalogue, overrides
from chartkit.documents.yaml_dump import comment, commented, dump_yaml
from chartkit.library.policies import LibraryPolicy
from chartkit.library.profiles import Selection
from chartkit.model import Body, FieldPath, Json
from chartkit.project.environment import Environment
from chartkit.project.settings import Exclusion
from chartkit.safe_text import markdown_cell

_STANDARDS: Final[Mapping[str, tuple[str, ...]]] = {
    "privileged": (),
    "baseline": (BASELINE,),
    "restricted": (BASELINE, RESTRICTED),
}
_UPSTREAM: Final = (
    "The keys that the upstream chart has in addition ({keys}) are accepted too: README.md, "
    '"Upstream\'s values".'
)
_LONGEST_CELL: Final = 80


def base_values(catalogue: Catalogue, resolved: Selection, schema: Body) -> Body:
    """Return every value of values.yaml: the schema's defaults under what the profiles set."""
    values = {
        key: copy.deepcopy(body["default"])
        for key, body in schema["properties"].items()
        if "default" in body
    }
    values["profiles"] = list(resolved.profiles)
    values["exclude"] = _filters(resolved.exclude)
    values["validationFailureActionOverrides"] = {"all": overrides(resolved.actions)}
    shared = catalogue.shared_parameters
    values["parameters"] = {name: body["default"] for name, body in shared.items()} | {
        name: value for name, value in resolved.parameters.items() if name in shared
    }
    enabled = {name for name, policy in resolved.policies.items() if policy.enabled}
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
    standard, switched = min(reversed(candidates), key=lambda candidate: len(candidate[1]))
    values["podSecurityStandard"] = standard
    values["policies"] = {
        policy.name: _policy_values(policy, resolved, switched.get(policy.name))
        for policy in catalogue.policies
    }
    return values


def environment_values(
    environment: Environment, catalogue: Catalogue, resolved: Selection, base: Body, schema: Body
) -> Body:
    """Return the values of an environment that differ from base; null removes a key of base."""
    own = {
        **base_values(catalogue, resolved, schema),
        "kyvernoVersion": str(environment.kyverno),
        "validationFailureAction": environment.action.value,
    }
    if environment.policy_type is not None:
        own["policyType"] = environment.policy_type.value
    if environment.is_unsupported:
        own["global"] = dict(ALLOWED)
    for name, body in own["policies"].items():
        if "enabled" not in body and "enabled" in base["policies"][name]:
            given = resolved.policies.get(name)
            body["enabled"] = given is not None and given.enabled
    return difference(own, base)


def values_text(values: Body, resolved: Selection, schema: Body, header: str) -> str:
    """Return values.yaml: the description of each key is above it, from the schema."""
    properties = schema["properties"]
    reasons = _reasons(resolved)

    def comments(path: FieldPath) -> str:
        if reason := _reason(reasons, path):
            return reason
        description = _description(schema, path) if len(path) == 1 else ""
        return f"-- {description}" if description else ""

    optional = [
        f"{comment('-- ' + properties[key]['description'])}\n{_commented_out(key, example)}"
        for key in properties
        for example in properties[key].get("examples", ())
    ]
    keys = ", ".join(upstream_keys(schema))
    tail = [*optional, comment(_UPSTREAM.format(keys=keys))]
    return "\n\n".join([comment(header), commented(values, comments).rstrip("\n"), *tail]) + "\n"


def upstream_keys(schema: Body) -> list[str]:
    """Return the keys of upstream's chart for which this one has another place."""
    return [
        key
        for key, body in schema["properties"].items()
        if "default" not in body
        and "examples" not in body
        and key not in ("parameters", "policies")
    ]


def environment_text(resolved: Selection, values: Body, schema: Body, header: str) -> str:
    """Return an environment's values file; the reason for an exclusion is above it."""
    reasons = _reasons(resolved)

    def comments(path: FieldPath) -> str:
        sentence, stop, _ = _description(schema, path).partition(". ")
        return _reason(reasons, path) or sentence + stop.rstrip()

    return f"{comment(header)}\n\n{commented(values, comments)}"


def _reasons(resolved: Selection) -> Mapping[FieldPath, Sequence[Exclusion]]:
    """Return the exclusions by the path of their list in the values."""
    return {("exclude", "any"): resolved.exclude} | {
        ("policies", name, "exclude", "any"): policy.exclude
        for name, policy in resolved.policies.items()
    }


def _reason(reasons: Mapping[FieldPath, Sequence[Exclusion]], path: FieldPath) -> str:
    at = path[-1]
    listed = reasons.get(path[:-1], ())
    return listed[at].reason if isinstance(at, int) and at < len(listed) else ""


def _commented_out(key: str, example: Json) -> str:
    return comment(dump_yaml({key: example}).rstrip("\n"))


def _description(schema: Body, path: FieldPath) -> str:
    """Return the description of a value, or the title of a policy, at a path."""
    body = schema["properties"].get(path[0], {})
    if len(path) == 2 and path[0] in ("parameters", "policies"):
        body = body.get("properties", {}).get(path[1], {})
    elif len(path) > 1:
        return ""
    text: str = body.get("description", "")
    return text


def _policy_values(policy: LibraryPolicy, resolved: Selection, enabled: bool | None) -> Body:
    given = resolved.policies.get(policy.name)
    action = given.action.value if given and given.action else None
    values: Body = {"enabled": enabled, "action": action}
    values = {key: value for key, value in values.items() if value is not None}
    if given and given.actions:
        values["actionOverrides"] = overrides(given.actions)
    if given and given.exclude:
        values["exclude"] = _filters(given.exclude)
    parameters = {key: item.default for key, item in policy.parameters.items() if not item.shared}
    parameters |= {name: value for name, value in resolved.parameters.items() if name in parameters}
    parameters |= given.parameters if given else {}
    return values | ({"parameters": parameters} if parameters else {})


def _filters(exclusions: Sequence[Exclusion]) -> Body:
    return {"any": [{"resources": dict(row.resources)} for row in exclusions]} if exclusions else {}


def readme(catalogue: Catalogue, values: Body, schema: Body) -> str:
    """Return the text of README.md; values: from values.yaml."""
    context = {
        "policies": catalogue.policies,
        "values": values,
        "properties": schema["properties"],
        "settings": schema["definitions"]["policy"]["properties"],
        "upstream": upstream_keys(schema),
        "cell": markdown_cell,
        "code": _code,
        "prose": _prose,
    }
    return page(POLICIES, "README.md.j2", context)


def _prose(text: str) -> str:
    """Return a description of the chart's own for a cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _code(value: Json) -> str:
    """Return a value as JSON for a cell; a pointer to values.yaml for a long one."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _LONGEST_CELL or "`" in text:
        return "see values.yaml"
    return f"`{text}`".replace("|", "\\|")
