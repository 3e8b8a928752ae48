"""Kinds and operations that values choose: a policy is converted with some of them, and its new
form takes those with which nothing else of it changes. The named templates that new forms use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from chartkit.model import Body, Json, mapping_at

DEFAULTS: Final[Mapping[str, Sequence[str]]] = {
    "kinds": ("Deployment",),
    "operations": ("CREATE", "UPDATE"),
}
"""The kinds and operations with which a policy is converted where the chart has no values."""
KINDS: Final = "chartkitkinds "
OPERATIONS: Final = "chartkitoperations"
_RESOURCE: Final = re.compile(r"^(\w+): ([\w.]*)/([\w*]+)/(\w+)$", re.MULTILINE)


@cache
def _resources() -> Mapping[str, tuple[str, str, str]]:
    """Return the group, version and name of the resources of kinds, as the helper has them."""
    matches = _RESOURCE.findall("".join(helper_texts()))
    return {kind: (group, version, name) for kind, group, version, name in matches}


def candidates(key: str) -> Sequence[str]:
    """Return what values may choose."""
    return list(_resources()) if key == "kinds" else DEFAULTS[key]


def with_chosen(spec: Body, chosen: Mapping[str, Sequence[str]]) -> Body:
    """Return the spec of a policy with marks for the kinds and operations that it is about; chosen:
    those that values choose."""
    constraints = mapping_at(spec, "matchConstraints")
    rules: Json = constraints.get("resourceRules", [])
    operations = chosen.get("operations")
    if operations and all(rule.get("operations") == list(operations) for rule in rules):
        rules = [{**rule, "operations": OPERATIONS} for rule in rules]
    kinds = [_resources().get(kind) for kind in chosen.get("kinds", ())]
    asked = [rule["operations"] for rule in rules]
    if None in kinds or not asked or asked.count(asked[0]) < len(asked):
        kinds = []
    resources = each_resource(rules) if kinds else []
    parts = ("apiGroups", "apiVersions", "resources")
    named = sorted(tuple(resource[part][0] for part in parts) for resource in resources)
    if kinds and named == sorted(filter(None, kinds)):
        joined = asked[0] if isinstance(asked[0], str) else ",".join(asked[0])
        rules = f"{KINDS}{joined}"
    return {**spec, "matchConstraints": {**constraints, "resourceRules": rules}} if rules else spec


def each_resource(rules: Sequence[Body]) -> list[Body]:
    """Return resource rules about one resource each."""
    return [
        {
            **rule,
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": sorted(set(rule["operations"])),
            "resources": [name],
        }
        for rule in rules
        for group in rule["apiGroups"]
        for version in rule["apiVersions"]
        for name in rule["resources"]
    ]


@cache
def helper_texts() -> Sequence[str]:
    """Return the named templates, each with its comment."""
    text = (Path(__file__).parent / "helpers.tpl").read_text("utf-8")
    return re.split(r"\n(?=\{\{/\*)", text)


def helpers(prefix: str, texts: Iterable[str]) -> str:
    """Return the named templates that texts use, as a chart has them."""
    head, *parts = (part.replace("CHART.", f"{prefix}.") for part in helper_texts())
    names = {part: re.findall(r'define "(.*?)"', part)[0] for part in parts}
    used, seen = "\n".join(texts), ""
    while used != seen:
        seen = used
        kept = [part for part in parts if f'include "{names[part]}"' in used]
        used = "\n".join([*kept, *texts])
    return "\n".join([head, *kept])
