"""The policies chart's values.schema.json: every value, strict.

`sources/kyverno-policies/values.schema.json` has the name, meaning, type and default of every
value; this module adds the names and parameters of the chart's policies. A value without a default
is not in values.yaml.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from chartkit import bundled
from chartkit.charts.plan import POLICIES
from chartkit.errors import InputError
from chartkit.library.policies import FolderPolicy, LibraryPolicy
from chartkit.library.upstream import UpstreamForm, UpstreamPolicy
from chartkit.model import Body, Json
from chartkit.project.settings import NamespaceAction

CLUSTER_POLICY = "ClusterPolicy"
VALIDATING_POLICY = "ValidatingPolicy"
ADMISSION_POLICY = "ValidatingAdmissionPolicy"
BOTH = "both"

PRECONDITIONS = (
    "preconditions are written in JMESPath, which a policy in CEL cannot hold; give "
    "policyMatchConditions or policyType: ClusterPolicy"
)
ROLES = (
    "what roles a user has cannot be asked in CEL; name users and groups under subjects, or give "
    "policyType: ClusterPolicy"
)
BACKGROUND = (
    "a ValidatingAdmissionPolicy looks at requests alone: it has no background scan to switch off"
)
OF_CEL = (
    "this is for policies in CEL, policyType ValidatingPolicy or ValidatingAdmissionPolicy; "
    "ClusterPolicy cannot hold it"
)
_WILDCARDS = frozenset("*?")
SCHEMA_FILE = "values.schema.json"
KEEP_ACTIONS = "keepOwnActions"
"""The value that lets policies without metadata.yaml keep their actions."""
_STANDARD_CATEGORY = "Pod Security Standards"
_IN_CEL = (UpstreamForm.CEL, UpstreamForm.ADMISSION)
_PARAMETERS: Body = {"description": "The policy's parameters.", "type": "object"}
_OWN_VALUES: Body = {
    "description": "Values that Helm code in the policy reads from .Values, over the chart's own.",
    "type": "object",
}
_WIDTH: Final = 120


def _when(types: Sequence[str], properties: Body) -> Body:
    asked = {"properties": {"policyType": {"enum": list(types)}}, "required": ["policyType"]}
    return {"if": asked, "then": {"properties": properties}}


def _refused(reason: str) -> Body:
    return {"const": reason}


def _of_cluster_policy(only_cel: Sequence[str]) -> Body:
    refused = {"additionalProperties": _refused(OF_CEL)}
    lists = {
        key: {"items": _refused(OF_CEL)} for key in ("excludeResourceRules", "matchConditions")
    }
    of_all = {"auditAnnotations": refused, "vpolExclude": {"properties": lists}}
    conditions = {"items": _refused(OF_CEL)}
    own = {"properties": {"matchConditions": conditions, "auditAnnotations": refused}}
    return {
        **({} if only_cel else of_all),
        "auditAnnotationsByPolicy": _but(only_cel, refused),
        "policyMatchConditions": _but(only_cel, conditions),
        "vpolExcludeByPolicy": _but(only_cel, {"properties": lists}),
        "policies": _but(only_cel, own),
    }


def _but(names: Sequence[str], body: Body) -> Body:
    """A schema for the values of all keys except some names."""
    aside: Body = {"properties": {name: {} for name in names}} if names else {}
    return {**aside, "additionalProperties": body}


def _of_cel(rules: Mapping[str, Sequence[str]], cel: Collection[str]) -> Body:
    """Return the settings that policies in CEL cannot have; cel: their names."""
    others = [name for name in rules if name not in cel]
    named = {*cel, *(rule for name in cel for rule in rules[name])}
    keys = sorted({*others, *(rule for name in others for rule in rules[name])} - named)
    conditions = {"additionalProperties": _refused(PRECONDITIONS)}
    filters = {"$ref": "#/definitions/filtersOfCel"}
    own = {"properties": {"preconditions": conditions, "exclude": filters}}
    return {
        "exclude": filters,
        "policyExclude": _but(keys, filters),
        "policyPreconditions": _but(keys, conditions),
        "policies": _but(others, own),
    }


def _filters_of_cel() -> Body:
    """Return the definition of exclude blocks that CEL can express."""
    users: Body = {"roles": {"items": _refused(ROLES)}, "clusterRoles": {"items": _refused(ROLES)}}
    entries = {"items": {"properties": users}}
    return {
        "description": "An exclude block without roles, which CEL cannot check.",
        "properties": {**users, "any": entries, "all": entries},
    }


def overrides(actions: Sequence[NamespaceAction]) -> list[Body]:
    """Return the overrides for actions of namespaces, of which the last that fits counts. A name
    that an earlier override decides is left out: Kyverno refuses a ClusterPolicy with two actions
    for one namespace."""
    entries: list[Body] = []
    decided: list[str] = []
    for action in reversed(actions):
        where: Body = {}
        if action.namespaces:
            names = [name for name in action.namespaces if not _is_decided(name, decided)]
            if not names:
                continue
            where["namespaces"] = names
        if action.selector is not None:
            where["namespaceSelector"] = action.selector
        elif action.namespaces:
            decided += action.namespaces
        entries.append({"action": action.action.value, **where})
    return entries


def require_no_overlap(actions: Sequence[NamespaceAction], policy: str) -> None:
    """Raise InputError where a ClusterPolicy cannot hold actions: a namespace with one, in a
    pattern with another."""
    for later, name, earlier, pattern in _overlaps(actions):
        if _is_decided(pattern, later.namespaces):
            continue
        message = (
            f"'{name}' ({later.action}) is within '{pattern}' ({earlier.action}), and Kyverno "
            f"refuses a ClusterPolicy such as {policy} with both"
        )
        hint = "name the namespaces without a wildcard, or say policyType: ValidatingPolicy"
        raise InputError(message, later.location, hint)


def _overlaps(
    actions: Sequence[NamespaceAction],
) -> Iterator[tuple[NamespaceAction, str, NamespaceAction, str]]:
    for index, later in enumerate(actions):
        for earlier in actions[:index]:
            if later.action is earlier.action:
                continue
            for name in later.namespaces:
                for pattern in earlier.namespaces:
                    if _WILDCARDS & set(pattern) and name != pattern and fnmatchcase(name, pattern):
                        yield later, name, earlier, pattern


def _is_decided(name: str, decided: Sequence[str]) -> bool:
    """Report whether patterns before cover a name, or a pattern as a whole."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in decided)


BASELINE, RESTRICTED = "baseline", "restricted"


def is_standard(policy: LibraryPolicy) -> bool:
    """Report whether the policy is one of the Pod Security Standards'."""
    return isinstance(policy, FolderPolicy) and policy.category.startswith(_STANDARD_CATEGORY)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The policies that a chart carries; rules: the names of their rules, by policy; cel: the kind
    of the form in CEL, by policy that has one beside its ClusterPolicy; standing: the standard's
    group (`baseline`, `restricted`) by policy, also of one from elsewhere that stands in its
    place."""

    policies: tuple[LibraryPolicy, ...]
    rules: Mapping[str, tuple[str, ...]]
    cel: Mapping[str, str]
    standing: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        """The policies' names."""
        return [policy.name for policy in self.policies]

    def group(self, name: str) -> list[str]:
        """The names of a standard's policies."""
        return [policy.name for policy in self.policies if self.standing.get(policy.name) == name]

    @property
    def upstream(self) -> list[UpstreamPolicy]:
        """The upstream policies."""
        return [policy for policy in self.policies if isinstance(policy, UpstreamPolicy)]

    @property
    def only_cel(self) -> list[str]:
        """The names of the policies that are in CEL whatever policyType says."""
        return [policy.name for policy in self.upstream if policy.form in _IN_CEL]

    @property
    def shared_parameters(self) -> dict[str, Body]:
        """The schemas of the parameters that several policies share, by name."""
        return {
            name: dict(parameter.schema)
            for policy in self.policies
            for name, parameter in policy.parameters.items()
            if parameter.shared
        }


def values_schema(catalogue: Catalogue) -> Body:
    """Return the chart's JSON Schema; draft 7, which every Helm 3 and 4 reads."""
    file = bundled.chart_source_dir(POLICIES) / SCHEMA_FILE
    schema: Body = json.loads(file.read_text("utf-8"))
    properties, definitions = schema["properties"], schema["definitions"]
    if not catalogue.upstream:
        del properties[KEEP_ACTIONS]
    _enumerate_policies(definitions, catalogue)
    # `$comment: KEYS of VALUE` names the definitions of the keys and of each value.
    for body in properties.values():
        keys, _, value = body.pop("$comment", "").partition(" of ")
        if value:
            others = {"additionalProperties": {"$ref": f"#/definitions/{value}"}}
            body["allOf"] = [{"$ref": f"#/definitions/{keys}"}, others]
    properties["parameters"]["properties"] = catalogue.shared_parameters
    policies = properties["policies"]
    shared = {
        name: {"$ref": f"#/properties/parameters/properties/{name}"}
        for name in catalogue.shared_parameters
    }
    parameters: Body = {}
    for policy in catalogue.policies:
        definition = "policy"
        if isinstance(policy, UpstreamPolicy) and policy.has_code:
            definition = "policyWithValues"
            definitions[definition] = _variant(definitions["policy"], {"values": _OWN_VALUES})
        elif policy.parameters:
            definition = "policyWithParameters"
            definitions[definition] = _variant(definitions["policy"], {"parameters": _PARAMETERS})
            own = {
                name: shared[name] if parameter.shared else dict(parameter.schema)
                for name, parameter in policy.parameters.items()
            }
            allowed = {"additionalProperties": False, "properties": own}
            parameters[_pattern(policy.name)] = {"properties": {"parameters": allowed}}
        policies["properties"][policy.name] = {
            "description": policy.title,
            "$ref": f"#/definitions/{definition}",
        }
    if parameters:
        policies["patternProperties"] = parameters
    definitions["filtersOfCel"] = _filters_of_cel()
    rules = {name: catalogue.rules.get(name, ()) for name in catalogue.names}
    # What each form refuses; policies without a form in CEL are ClusterPolicies whatever policyType
    # is, and keep what only those can hold.
    conditions = [_when([CLUSTER_POLICY, BOTH], _of_cluster_policy(catalogue.only_cel))]
    if catalogue.cel:
        without = [name for name in rules if name not in catalogue.cel]
        on = {"enum": [True, None, BACKGROUND]}
        own = {"background": on, "policies": _but(without, {"properties": {"background": on}})}
        conditions += [
            _when([VALIDATING_POLICY, ADMISSION_POLICY], _of_cel(rules, catalogue.cel)),
            _when([ADMISSION_POLICY], own),
        ]
    doubled = [name for name, kind in catalogue.cel.items() if kind == VALIDATING_POLICY]
    schema["allOf"] = (
        [*conditions, _when([BOTH], _of_cel(rules, doubled))] if doubled else conditions
    )
    return schema


def parameters_alone(schema: Body, names: Iterable[str]) -> Body:
    """Return only the part of a chart's schema for the parameters of some policies."""
    policies = schema["properties"]["policies"].get("patternProperties", {})
    patterns = [_pattern(name) for name in names]
    own = {pattern: policies[pattern] for pattern in patterns if pattern in policies}
    return {
        "$schema": schema["$schema"],
        "properties": {
            "parameters": schema["properties"]["parameters"],
            "policies": {"patternProperties": own},
        },
        "definitions": schema["definitions"],
    }


def _enumerate_policies(definitions: Body, catalogue: Catalogue) -> None:
    """Add the names of policies and rules to their definitions."""
    restricted = catalogue.group(RESTRICTED)
    standard = catalogue.group(BASELINE) + restricted
    others = [name for name in catalogue.names if name not in standard]
    _enumerate(definitions["standardPolicy"], standard)
    _enumerate(definitions["restrictedPolicy"], restricted)
    _enumerate(definitions["otherPolicy"], others)
    rules = {rule for names in catalogue.rules.values() for rule in names}
    keys = {
        "byPolicy": catalogue.names,
        "byPolicyOrAll": ["all", *catalogue.names],
        "byPolicyOrRule": sorted({*catalogue.names, *rules}),
    }
    for name, properties in keys.items():
        definitions[name]["properties"] = dict.fromkeys(properties, True)


def _enumerate(definition: Body, names: Sequence[str]) -> None:
    if names:
        definition["enum"] = list(names)
        return
    # An empty enum is not a valid schema.
    del definition["enum"]
    definition["not"] = {}


def _variant(policy: Body, extra: Body) -> Body:
    """Return the definition of a policy with other keys in addition to, or in place of, its own."""
    keys = {key: {"$ref": f"#/definitions/policy/properties/{key}"} for key in policy["properties"]}
    return {**policy, "properties": {**keys, **extra}}


def _pattern(name: str) -> str:
    """Return a regular expression for a policy's name alone, for Go, Python and ECMA 262."""
    return f"^{name.replace('.', '[.]')}$"


def dump_json(value: Json) -> str:
    """Return a value as JSON, keys in their order, ending with a newline."""
    return _text(value, "", 0) + "\n"


def _text(value: Json, indent: str, used: int) -> str:
    """Return a value; used: the columns in front of it on its line, and a comma behind it."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(line) + used <= _WIDTH:
        return line
    inner = indent + " "
    if isinstance(value, list):
        items = [inner + _text(item, inner, len(inner) + 1) for item in value]
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    lines = []
    for key, item in value.items():
        start = f"{inner}{json.dumps(key, ensure_ascii=False)}: "
        lines.append(start + _text(item, inner, len(start) + 1))
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
