"""The policies chart's values.schema.json: every value, strict.

Names, meaning, form and default of every value stand in `sources/kyverno-policies/
values.schema.json`; here the names and parameters of the chart's policies are added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chartkit import bundled
from chartkit.library.policy import FolderPolicy, LibraryPolicy
from chartkit.library.upstream import UpstreamForm, UpstreamPolicy
from chartkit.charts.policies.forms import filters_of_cel, rulings
from chartkit.model import Body

CHART_NAME = "kyverno-policies"
SCHEMA_FILE = "values.schema.json"
BASELINE, RESTRICTED = "baseline", "restricted"
KEEP_ACTIONS = "keepOwnActions"
"""The value that lets policies without metadata.yaml keep their actions."""
_STANDARD_CATEGORY = "Pod Security Standards"


def is_standard(policy: LibraryPolicy) -> bool:
    """Whether the policy is one of the Pod Security Standards'."""
    return isinstance(policy, FolderPolicy) and policy.category.startswith(_STANDARD_CATEGORY)


_IN_CEL = (UpstreamForm.CEL, UpstreamForm.ADMISSION)
_OWN_VALUES: Body = {
    "description": "What Helm code of the policy itself finds in .Values, over the chart's values.",
    "type": "object",
}


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The policies that a chart carries; rules: the names of their rules, by policy; cel: the
    policies that have a form in CEL beside their ClusterPolicy; standing: the standard's group
    (`baseline`, `restricted`) by policy, also of one from elsewhere that stands in its place."""

    policies: tuple[LibraryPolicy, ...]
    rules: Mapping[str, tuple[str, ...]]
    cel: frozenset[str]
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
        """The names of those that are in CEL whatever policyType says."""
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
    """The chart's JSON Schema; draft 7, which every Helm 3 and 4 reads."""
    file = bundled.chart_source_dir(CHART_NAME) / SCHEMA_FILE
    schema: Body = json.loads(file.read_text("utf-8"))
    properties = schema["properties"]
    if not catalogue.upstream:
        del properties[KEEP_ACTIONS]
    _open_by_name(properties.values(), catalogue)
    restricted = catalogue.group(RESTRICTED)
    standard = catalogue.group(BASELINE) + restricted
    others = [name for name in catalogue.names if name not in standard]
    for definition, names in (
        ("standardPolicy", standard),
        ("restrictedPolicy", restricted),
        ("otherPolicy", others),
    ):
        _enumerate(schema["definitions"][definition], names)
    properties["parameters"]["properties"] = catalogue.shared_parameters
    template = schema["definitions"]["policy"]
    for body in [*properties.values(), *template["properties"].values()]:
        _inline(body, schema["definitions"])
    properties["policies"]["properties"] = {
        policy.name: _policy_schema(policy, template) for policy in catalogue.policies
    }
    cel = {name: catalogue.rules[name] for name in catalogue.names if name in catalogue.cel}
    schema["definitions"]["filtersOfCel"] = filters_of_cel()
    schema["allOf"] = rulings(cel, catalogue.only_cel)
    return schema


def parameters_alone(schema: Body, names: Iterable[str]) -> Body:
    """What a chart's schema says of the parameters of some policies, and nothing else."""
    policies = schema["properties"]["policies"]["properties"]
    own = {name: {"parameters": policies[name]["properties"]["parameters"]} for name in names}
    return {
        "$schema": schema["$schema"],
        "properties": {
            "policies": {"properties": {name: {"properties": own[name]} for name in own}}
        },
        "definitions": schema["definitions"],
    }


def _inline(body: Body, definitions: Body) -> None:
    """Puts a definition in the place of `allOf` with it alone: Helm's message for the latter says
    only that allOf failed."""
    for part in body.pop("allOf", ()):
        definition = definitions[part["$ref"].rpartition("/")[2]]
        body.update({key: value for key, value in definition.items() if key != "description"})


def _open_by_name(properties: Iterable[Body], catalogue: Catalogue) -> None:
    """Gives the values that are keyed by name their keys; `$comment` says which, and what of."""
    names = catalogue.names
    rules = {rule for found in catalogue.rules.values() for rule in found}
    keys = {
        "policy": names,
        "policy and all": ["all", *names],
        "policy and rule": sorted({*names, *rules}),
    }
    for body in properties:
        subject, _, definition = body.pop("$comment", "").removeprefix("by ").partition(": ")
        if definition:
            body["type"] = "object"
            body["additionalProperties"] = False
            body["properties"] = {
                key: {"$ref": f"#/definitions/{definition}"} for key in keys[subject]
            }


def _enumerate(definition: Body, names: Sequence[str]) -> None:
    if names:
        definition["enum"] = list(names)
        return
    # An empty enum is no valid schema.
    del definition["enum"]
    definition["not"] = {}


def _policy_schema(policy: LibraryPolicy, template: Body) -> Body:
    properties: Body = {
        key: {"$ref": f"#/definitions/policy/properties/{key}"} for key in template["properties"]
    }
    parameters = {name: dict(each.schema) for name, each in policy.parameters.items()}
    properties["parameters"] = {**template["properties"]["parameters"], "properties": parameters}
    if isinstance(policy, UpstreamPolicy) and policy.has_code:
        properties["values"] = _OWN_VALUES
    description = f"{policy.title}. {policy.description}"
    return {**template, "description": description, "properties": properties}
