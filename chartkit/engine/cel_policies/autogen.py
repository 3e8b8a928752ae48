"""Policies about Pods extended to their controllers, as Kyverno's CEL engine extends them.

Kyverno replaces `object.spec` and `object.metadata` in the whole specification as text, in
messages and string literals too; `object.metadata.namespace` stays, for templates have none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from chartkit.engine.cel_policies.policy import CelPolicy, MatchConstraints, with_spec
from chartkit.engine.kubernetes import kinds
from chartkit.engine.kubernetes.kinds import CRON_TEMPLATE, TEMPLATE
from chartkit.model import Body, FieldPath, Json

CONTROLLERS: Final = {each.plural: each for each in kinds.CONTROLLERS if each.group}
"""The controllers that policies are extended to, by resource."""

# As in Kyverno, what stands before and behind does not matter: `object.specs` is one too.
_FIELD: Final = re.compile(r"(object|oldObject)\.(spec|metadata)(?!\.namespace(?![A-Za-z0-9_]))")


Rewrite = Callable[[Body, str], Body]
"""From a specification about Pods, and where a template stands, to one about the template's."""


def extended(policy: CelPolicy, rewrite: Rewrite | None = None) -> tuple[CelPolicy, ...]:
    """The policies for pod controllers, CronJobs first; none where it is not about Pods alone.

    rewrite: how the kind rewrites a specification; by default every text in it.
    """
    if policy.constraints is None or not can_extend(policy.constraints):
        return ()
    asked = tuple(CONTROLLERS) if policy.controllers is None else policy.controllers
    policies: list[CelPolicy] = []
    for template in (CRON_TEMPLATE, TEMPLATE):
        controllers = {name for name in asked if name in CONTROLLERS}
        resources = sorted(name for name in controllers if CONTROLLERS[name].template == template)
        if resources:
            policies.append(_for(policy, template, resources, rewrite or rewritten))
    return tuple(policies)


def of_templates(policy: CelPolicy) -> CelPolicy | None:
    """The policy for workloads of custom kinds, which its controllers name as
    `RESOURCE.VERSION.GROUP`; None where they name none. Its expressions stay those about a Pod."""
    if policy.constraints is None or not can_extend(policy.constraints):
        return None
    resources = [resource for name in policy.controllers or () if (resource := _custom(name))]
    return replace(_matching(policy, resources), of_templates=True) if resources else None


def _custom(name: str) -> tuple[str, str, str] | None:
    """Return group, version and resource of a custom kind; Kyverno ignores other names."""
    resource, _, rest = name.partition(".")
    version, _, group = rest.partition(".")
    return (group, version, resource) if resource and version and group else None


def can_extend(constraints: MatchConstraints) -> bool:
    """Report whether constraints match Pods alone, without names, exclusions or object
    selectors."""
    return obstacle(constraints) is None


def obstacle(constraints: MatchConstraints) -> tuple[FieldPath, str] | None:
    """Return the path and text of what keeps a policy from being extended to pod controllers; None
    if it can be."""
    selector = constraints.object_selector
    if selector is not None and (selector.labels or selector.expressions):
        return ("objectSelector",), "it has an objectSelector"
    if constraints.excluded:
        return ("excludeResourceRules",), "it has excludeResourceRules"
    if len(constraints.rules) != 1:
        return ("resourceRules",), f"it has {len(constraints.rules)} resourceRules"
    rule, path = constraints.rules[0], ("resourceRules", 0)
    if rule.names:
        return (*path, "resourceNames"), "its rule has resourceNames"
    if rule.resources != ("pods",):
        return (*path, "resources"), "its rule is not about pods alone"
    if rule.groups != ("",) or rule.versions != ("v1",):
        return path, "its rule is not about v1 alone"
    return None


def source_offset(original: str, rewritten: str, template: str, offset: int) -> int | None:
    """Return the offset in a policy's text of a character of the text for a template's Pods; None
    if that is unknown."""
    for pattern in (_FIELD, _MUTATED):
        if pattern.sub(rf"\1.{template}.\2", original) != rewritten:
            continue
        added = 0
        for match in pattern.finditer(original):
            start = match.start(2) + added
            if offset < start:
                break
            added += min(len(template) + 1, offset - start)
        return offset - added
    return None


def _for(policy: CelPolicy, template: str, resources: list[str], rewrite: Rewrite) -> CelPolicy:
    form = _matching(policy, [(CONTROLLERS[name].group, "v1", name) for name in resources])
    return replace(with_spec(policy, rewrite(form.spec, template)), template=template)


def _matching(policy: CelPolicy, resources: Iterable[tuple[str, str, str]]) -> CelPolicy:
    """Return the policy for other resources: group, version and resource of each."""
    constraints: Body = policy.spec["matchConstraints"]
    operations = list((constraints["resourceRules"][0].get("operations")) or ())
    rows = sorted(set(resources))
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": operations,
            "resources": [name for *kind, name in rows if kind == [group, version]],
        }
        for group, version in dict.fromkeys((group, version) for group, version, _ in rows)
    ]
    matched: Body = {"resourceRules": rules}
    if constraints.get("namespaceSelector") is not None:
        matched["namespaceSelector"] = constraints["namespaceSelector"]
    return with_spec(policy, {**policy.spec, "matchConstraints": matched})


def rewritten(spec: Body, template: str) -> Body:
    """A specification with every text rewritten for a template's Pods."""
    rewrite = rewriter(template)

    def walk(value: Json) -> Json:
        if isinstance(value, str):
            return rewrite(value)
        if isinstance(value, list):
            return [walk(member) for member in value]
        if isinstance(value, dict):
            return {rewrite(key): walk(member) for key, member in value.items()}
        return value

    body: Body = walk(spec)
    return body


def rewriter(template: str) -> Callable[[str], str]:
    """From a text about Pods to the text about a template's Pods."""
    return lambda text: _FIELD.sub(rf"\1.{template}.\2", text)


_MUTATED: Final = re.compile(
    r"\b(object|oldObject|Object)\.(spec|metadata\.(?:labels|annotations))"
)
_TEMPLATE_OBJECTS: Final = {
    TEMPLATE: "Object{spec: Object.spec{template: Object.spec.template{",
    CRON_TEMPLATE: (
        "Object{spec: Object.spec{jobTemplate: Object.spec.jobTemplate{"
        "spec: Object.spec.jobTemplate.spec{template: Object.spec.jobTemplate.spec.template{"
    ),
}
_BLANKS: Final = " \t\r\n"


def mutations_rewritten(spec: Body, template: str) -> Body:
    """A MutatingPolicy's specification, rewritten for a template's Pods: its match conditions and
    its apply configurations. JSON patches stay as they are."""
    conditions = [
        {**condition, "expression": mutation_rewritten(condition.get("expression") or "", template)}
        for condition in spec.get("matchConditions") or ()
    ]
    mutations = [_mutation(mutation, template) for mutation in spec.get("mutations") or ()]
    return {**spec, "matchConditions": conditions, "mutations": mutations}


def _mutation(body: Body, template: str) -> Body:
    applied: Body | None = body.get("applyConfiguration")
    if not applied or not applied.get("expression"):
        return body
    text = mutation_rewritten(applied["expression"], template)
    return {**body, "applyConfiguration": {**applied, "expression": text}}


def mutation_rewritten(expression: str, template: str) -> str:
    """An expression about a Pod as one about a template's: an `Object{…}` that it starts with is
    wrapped in the objects around the template."""
    text = _MUTATED.sub(rf"\1.{template}.\2", expression)
    trimmed = text.strip()
    if not trimmed.startswith("Object"):
        return text
    content = trimmed.removeprefix("Object").lstrip(_BLANKS)
    if not content.startswith("{"):
        return text
    content, end = content[1:], _closing(content[1:])
    if end <= 0:
        return text
    wrapper = _TEMPLATE_OBJECTS[template]
    return wrapper + content[:end] + "}" * wrapper.count("{") + content[end + 1 :]


def _closing(content: str) -> int:
    """Return the position of the brace that closes one before the text; 0 if there is none.

    Kyverno counts braces in string literals, too.
    """
    depth = 1
    for at, char in enumerate(content):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if not depth:
            return at
    return 0
