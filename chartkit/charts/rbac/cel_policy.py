"""The permissions for policies of policies.kyverno.io.

Source of the verbs: what Kyverno 1.19 asks the API server for (`pkg/cel/libs`,
`pkg/background/gpol`, `pkg/background/mpol`, `pkg/controllers/deleting`), and what it asks whether
it may before it calls a policy ready (`pkg/controllers/policystatus`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from chartkit.charts.rbac.requirements import RBAC_GROUP, RBAC_NOTE, READ, Controller, Findings
from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.kyverno.cel_literals import ObjectLiteral, calls, constants, objects, results
from chartkit.kyverno.controllers import CORE, ResourceName
from chartkit.model import Body, FieldPath, Json, list_of, mapping_at, texts_below

_READING: Final[Mapping[str, str]] = {
    "resource.Get": "get",
    "resource.List": "list",
    "resource.Post": "create",
}
_GLOBAL: Final = "globalContext.Get"
_CONFIG_MAPS: Final = ResourceName(CORE, "configmaps")
_CONTROLLERS: Final[Mapping[str, tuple[Controller, ...]]] = {
    "ValidatingPolicy": (Controller.ADMISSION,),
    "ImageValidatingPolicy": (Controller.ADMISSION,),
    "MutatingPolicy": (Controller.ADMISSION,),
    "GeneratingPolicy": (Controller.BACKGROUND,),
    "DeletingPolicy": (Controller.CLEANUP,),
}
"""The controllers that evaluate a policy of a kind, except in scans."""
_PLACEHOLDER: Final = re.compile(r"\(\([^()]*(?:\([^()]*\)[^()]*)*\)\)")
"""A placeholder of a template; one level of calls is enough to leave names readable."""


def cel_needs(kind: str, body: Body, findings: Findings) -> None:
    """Add the needs of a policy; kind: of policies.kyverno.io, without `Namespaced`."""
    spec = mapping_at(body.get("spec"))
    evaluation = mapping_at(spec.get("evaluation"))
    existing = _is_on(evaluation, "mutateExisting", False)
    background = _is_on(evaluation, "background", True) and kind != "DeletingPolicy"
    matched = _resources(spec.get("matchConstraints"), ("spec", "matchConstraints"), findings)
    # Parts of objects are not objects that could be looked up, scanned or deleted.
    objects_matched = [name for name in matched if "/" not in name.resource]
    if background:
        findings.allow([Controller.REPORTS], objects_matched, READ, scan=True)
    controllers = _CONTROLLERS[kind] + ((Controller.BACKGROUND,) if existing else ())
    scans = background and kind in ("ValidatingPolicy", "ImageValidatingPolicy")
    literals = constants(_variables(spec))
    for path, text in texts_below(spec, ("spec",)):
        about_targets = str(path[1]).startswith("targetMatch")
        asking = (Controller.BACKGROUND,) if about_targets else controllers
        _read_needs(text, literals, path, asking, False, findings)
        if scans:
            _read_needs(text, literals, path, [Controller.REPORTS], True, findings)
    if existing or kind == "GeneratingPolicy":
        # The objects that set such a policy off are looked up again before it runs.
        findings.allow([Controller.BACKGROUND], objects_matched, ("get", "list"))
    if existing:
        for target in _targets(spec, matched, findings):
            # A part of an object is written alone, after the whole was read.
            whole = ResourceName(target.group, target.resource.partition("/")[0])
            findings.allow([Controller.BACKGROUND], [whole], ("get", "list"))
            findings.allow([Controller.BACKGROUND], [target], ["update"])
    if kind == "GeneratingPolicy":
        _generating_needs(spec, evaluation, literals, findings)
    if kind == "DeletingPolicy":
        findings.allow([Controller.CLEANUP], objects_matched, ("list", "delete"))


def _targets(spec: Body, matched: Sequence[ResourceName], findings: Findings) -> list[ResourceName]:
    """The existing objects that a policy changes: its targets, or those that it matches."""
    constraints = mapping_at(spec.get("targetMatchConstraints"))
    path: FieldPath = ("spec", "targetMatchConstraints")
    targets = _resources(constraints, path, findings)
    expression = constraints.get("expression")
    if isinstance(expression, str) and expression and not targets:
        findings.note("an expression says which objects are changed", (*path, "expression"))
    elif not targets:
        return list(matched)
    return targets


def _resources(constraints: Json, path: FieldPath, findings: Findings) -> list[ResourceName]:
    """The resources of a policy's rules, as they are written there."""
    named = []
    for index, rule in enumerate(list_of(mapping_at(constraints).get("resourceRules"))):
        groups = list_of(mapping_at(rule).get("apiGroups"))
        resources = list_of(mapping_at(rule).get("resources"))
        for group in groups:
            for resource in resources:
                if "*" in f"{group}{resource}":
                    steps = (*path, "resourceRules", index)
                    shown = f"{group}/{resource}".removeprefix("/")
                    findings.note(f"'{shown}' matches resources that are not named", steps)
                else:
                    named.append(ResourceName(str(group), str(resource)))
    return named


def _read_needs(
    text: str,
    literals: Mapping[str, str],
    path: FieldPath,
    controllers: Sequence[Controller],
    scan: bool,
    findings: Findings,
) -> None:
    for function, verb in _READING.items():
        for call in calls(text, function, literals):
            api_version, resource, *rest = (*call.arguments, None, None)
            if api_version is None or resource is None:
                findings.note(f"an expression says which resource {function} asks for", path)
                continue
            name = ResourceName(_group(api_version), resource)
            findings.allow(controllers, [name], [verb], scan)
            if name == _CONFIG_MAPS and verb == "get":
                namespace, name, *_ = (*rest, None, None)
                if namespace is None or name is None:
                    findings.note("an expression says which ConfigMap is read", path)
                else:
                    findings.reads_config_map(namespace, name, path)
    for call in calls(text, _GLOBAL, literals):
        entry = next(iter(call.arguments), None)
        if entry is None:
            findings.note("an expression says which GlobalContextEntry is asked", path)
        else:
            findings.global_entries.add(entry)


def _generating_needs(
    spec: Body, evaluation: Body, literals: Mapping[str, str], findings: Findings
) -> None:
    verbs = {"get", "create", "update"}
    if _is_on(evaluation, "synchronize", False):
        verbs |= {"list", "watch", "delete"}
    if spec.get("useServerSideApply") is True:
        verbs.add("patch")
    for index, entry in enumerate(list_of(spec.get("generate"))):
        path: FieldPath = ("spec", "generate", index)
        expression = mapping_at(entry).get("expression")
        template = mapping_at(mapping_at(entry).get("template")).get("value")
        if isinstance(expression, str):
            made = list(_generated(expression, _variables(spec), literals))
        elif isinstance(template, str):
            made = list(_in_template(template))
        else:
            continue
        if not made:
            findings.note("an expression says what is generated", path)
        for item in made:
            resources = [item] if isinstance(item, ResourceName) else _named(item, path, findings)
            findings.allow([Controller.BACKGROUND], resources, verbs)
            if any(resource.group == RBAC_GROUP for resource in resources):
                findings.note(RBAC_NOTE, path)


def _generated(
    expression: str, variables: Mapping[str, str], literals: Mapping[str, str]
) -> Iterator[ObjectLiteral | ResourceName]:
    """Yield the objects that an expression generates: written out, or copies."""
    waiting, seen = [expression], {expression}
    while waiting:
        text = waiting.pop()
        written = list(objects(text, literals))
        yield from written
        for function in ("resource.Get", "resource.List"):
            for call in calls(text, function, literals):
                api_version, resource, *_ = (*call.arguments, None, None)
                if call.alone and api_version is not None and resource is not None:
                    yield ResourceName(_group(api_version), resource)
        # The fields of an object that is written out are not objects of their own.
        followed = [] if written else [variables.get(name, "") for name in results(text)]
        waiting += [name for name in followed if name not in seen]
        seen.update(followed)


def _in_template(template: str) -> Iterator[ObjectLiteral]:
    """The objects of a template; what it fills in is nothing that can be known."""
    try:
        documents = read_text(_PLACEHOLDER.sub("x", template), "template")
    except InputError:
        return
    for document in documents:
        body = mapping_at(document.body)
        words = [body.get(key) for key in ("apiVersion", "kind")]
        yield ObjectLiteral(
            *(word if isinstance(word, str) and word != "x" else None for word in words)
        )


def _named(made: ObjectLiteral, path: FieldPath, findings: Findings) -> list[ResourceName]:
    if made.kind is None or made.api_version is None:
        findings.note("an expression says which kind is generated", path)
        return []
    return findings.named(_group(made.api_version), made.kind, path)


def _variables(spec: Body) -> dict[str, str]:
    return {
        variable["name"]: variable["expression"]
        for variable in list_of(spec.get("variables"))
        if isinstance(variable, dict)
        and isinstance(variable.get("name"), str)
        and isinstance(variable.get("expression"), str)
    }


def _is_on(evaluation: Body, name: str, default: bool) -> bool:
    enabled = mapping_at(evaluation.get(name)).get("enabled")
    return enabled if isinstance(enabled, bool) else default


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
