"""The permissions that Kyverno's controllers need for policies, and what else policies need.

Computed from policies' texts; the chart carries the outcome by policy (`data/permissions.json`) and
makes ClusterRoles of what the installed ones need, which Kyverno's own roles gather by their label
`rbac.kyverno.io/aggregate-to-CONTROLLER`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Final

from chartkit.charts.rbac.cel_policy import cel_needs
from chartkit.charts.rbac.requirements import (
    RBAC_GROUP,
    RBAC_NOTE,
    READ,
    SECRETS,
    VARIABLE,
    Controller,
    Findings,
    Needs,
    Permission,
    granted,
    subresource,
)
from chartkit.documents.reader import read_file
from chartkit.kyverno.controllers import CORE, ResourceName, known_kinds
from chartkit.kyverno.policy_fields import GROUP, KINDS, NAMESPACED
from chartkit.model import Body, FieldPath, Json, list_of, mapping_at
from chartkit.schemas.kind_selectors import parse_kind_selector

_EXTENDING: Final = (Controller.ADMISSION, Controller.BACKGROUND)
_JUDGING: Final = (Controller.ADMISSION,)
_CLEANING: Final = (Controller.CLEANUP,)
_SCANNING: Final = (Controller.REPORTS,)
_PAYLOAD: Final = frozenset({"data", "pattern", "anyPattern", "patchStrategicMerge"})
"""Keys below which objects stand, whose fields are not those of a policy."""
_VARIABLE: Final = re.compile(r"\{\{[^{}]*\}\}")
_NESTED: Final = 16
"""The depth to which variables in variables are followed."""
_PLACEHOLDER: Final = "\x00"
_NAMESPACE_PARTS: Final = ("status", "finalize")
_CALLS: Final = {"POST": "create"}
_SECRET_NOTE: Final = (
    "which Kyverno's admission and reports controllers may read in Kyverno's own namespace alone"
)
_OPEN: Final = frozenset({"version", "healthz", "livez", "readyz", "openapi"})
"""The paths that Kubernetes shows to every account, in addition to what it serves."""
LABEL: Final = "rbac.kyverno.io/aggregate-to-"
"""The prefix of the label that aggregates a ClusterRole into Kyverno's roles; the controller
follows."""
DEFINITIONS_FILE: Final = "crds.yaml"
"""The definitions of the custom kinds that a policy names, in its folder."""
_DEFINITION: Final = "CustomResourceDefinition"
_PLAIN_GROUP: Final = "kyverno.io"


def policy_needs(body: Body, findings: Findings) -> None:
    """Add the needs of a ClusterPolicy or Policy."""
    spec = mapping_at(body.get("spec"))
    scanned = spec.get("background") is not False
    for index, rule in enumerate(list_of(spec.get("rules"))):
        if isinstance(rule, dict):
            path = ("spec", "rules", index)
            mutate, generate = mapping_at(rule.get("mutate")), mapping_at(rule.get("generate"))
            extending = bool(generate or mutate.get("targets"))
            matched = list(_matched(rule, path, findings))
            if scanned:
                judged = "validate" in rule or "verifyImages" in rule
                # Kyverno asks for it when a rule changes or makes objects, too, and only warns.
                read = matched if judged else [name for name in matched if name != SECRETS]
                findings.allow(_SCANNING, read, READ, scan=True)
            if extending:
                # The objects that set such a rule off are looked up again before it runs.
                findings.allow([Controller.BACKGROUND], matched, ("get", "list"))
            if generate:
                _generate_needs(spec, generate, (*path, "generate"), findings)
            for rule_index, target in enumerate(list_of(mutate.get("targets"))):
                if isinstance(target, dict):
                    _target_needs(target, (*path, "mutate", "targets", rule_index), findings)
            for secret, steps in _keys_of_images(rule.get("verifyImages"), (*path, "verifyImages")):
                findings.note(f"it takes keys from Secret {secret}, {_SECRET_NOTE}", steps)
            for entry, steps in _contexts(rule, path):
                _context_needs(entry, steps, _EXTENDING if extending else _JUDGING, findings)
                if scanned and not extending:
                    _context_needs(entry, steps, _SCANNING, findings)


def cleanup_needs(body: Body, findings: Findings) -> None:
    """Add the needs of a ClusterCleanupPolicy or CleanupPolicy."""
    spec = mapping_at(body.get("spec"))
    findings.allow(_CLEANING, _matched(spec, ("spec",), findings), ("list", "delete"))
    for entry, steps in _contexts(spec, ("spec",)):
        _context_needs(entry, steps, _CLEANING, findings)


def _matched(rule: Body, path: FieldPath, findings: Findings) -> Iterator[ResourceName]:
    """The resources that a rule matches, subresources aside: those are not objects of their own."""
    match = mapping_at(rule.get("match"))
    blocks: list[tuple[Json, FieldPath]] = [(match, (*path, "match"))]
    for key in ("any", "all"):
        for index, entry in enumerate(list_of(match.get(key))):
            blocks.append((entry, (*path, "match", key, index)))
    for block, steps in blocks:
        kinds = mapping_at(mapping_at(block).get("resources")).get("kinds")
        for index, kind in enumerate(list_of(kinds)):
            if isinstance(kind, str):
                group, _, name, part = parse_kind_selector(kind)
                if not part:
                    yield from findings.named(group, name, (*steps, "resources", "kinds", index))


def _generate_needs(spec: Body, generate: Body, path: FieldPath, findings: Findings) -> None:
    synchronized = generate.get("synchronize") is True
    verbs = {"get", "create"} | ({"list", "update", "delete"} if synchronized else set())
    verbs |= {"patch"} if spec.get("useServerSideApply") is True else set()
    foreach = list_of(generate.get("foreach"))
    patterns = [(loop, (*path, "foreach", index)) for index, loop in enumerate(foreach)]
    for pattern, steps in patterns or [(generate, path)]:
        for resource, own in _generated(mapping_at(pattern), steps, findings):
            findings.allow([Controller.BACKGROUND], [resource], verbs | own)
            if synchronized:
                findings.allow([Controller.ADMISSION], [resource], ("get", "list"))
            if resource.group == RBAC_GROUP:
                findings.note(RBAC_NOTE, steps)


def _generated(
    pattern: Body, path: FieldPath, findings: Findings
) -> Iterator[tuple[ResourceName, set[str]]]:
    """Return the generated objects, and the needs of their sources: clones' sources get labels."""
    kinds = list_of(mapping_at(pattern.get("cloneList")).get("kinds"))
    for index, text in enumerate(kinds):
        if isinstance(text, str):
            api_version, _, name = text.rpartition("/")
            steps = (*path, "cloneList", "kinds", index)
            for resource in _of_api_version(api_version or None, name, steps, findings):
                yield resource, {"list", "update"}
    kind = pattern.get("kind")
    if not kinds and isinstance(kind, str):
        own = {"update"} if pattern.get("clone") else set()
        for resource in _of_api_version(pattern.get("apiVersion"), kind, (*path, "kind"), findings):
            yield resource, own


def _of_api_version(
    api_version: Json, kind: str, path: FieldPath, findings: Findings
) -> Sequence[ResourceName]:
    """The resources of a kind, `Pod/status` for a part, in a version of the API."""
    group: str | None = None
    if isinstance(api_version, str) and api_version:
        group, slash, _ = api_version.rpartition("/")
        if VARIABLE in api_version:
            group = api_version
        elif not slash:
            group = "*" if "*" in api_version else CORE
    _, _, name, part = parse_kind_selector(kind)
    return subresource(findings.named(group, name if VARIABLE not in kind else kind, path), part)


def _target_needs(target: Body, path: FieldPath, findings: Findings) -> None:
    kind = target.get("kind")
    if not isinstance(kind, str):
        return
    resources = _of_api_version(target.get("apiVersion"), kind, (*path, "kind"), findings)
    verbs = {"get", "update"}
    if not all(_is_one(target.get(key)) for key in ("namespace", "name")):
        verbs.add("list")
    findings.allow([Controller.BACKGROUND], resources, verbs)
    whole = [
        ResourceName(name.group, name.resource.partition("/")[0], name.guessed)
        for name in resources
        if "/" in name.resource
    ]
    findings.allow([Controller.BACKGROUND], whole, verbs - {"update"})


def _is_one(name: Json) -> bool:
    """Report whether a name is one object's: then it is fetched, not looked for in a list."""
    return isinstance(name, str) and bool(name) and "*" not in name and "?" not in name


def _contexts(node: Json, path: FieldPath) -> Iterator[tuple[Body, FieldPath]]:
    """The context entries of a rule, wherever they stand in it."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _contexts(item, (*path, index))
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "context" and isinstance(value, list):
                for index, entry in enumerate(value):
                    if isinstance(entry, dict):
                        yield entry, (*path, key, index)
            elif key not in _PAYLOAD:
                yield from _contexts(value, (*path, key))


def _keys_of_images(node: Json, path: FieldPath) -> Iterator[tuple[str, FieldPath]]:
    """The Secrets that hold keys of images' signatures, wherever attestors name them."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _keys_of_images(item, (*path, index))
    elif isinstance(node, dict):
        secret = mapping_at(mapping_at(node.get("keys")).get("secret"))
        if secret:
            name = f"{secret.get('namespace')}/{secret.get('name')}"
            yield name, (*path, "keys", "secret")
        for key, value in node.items():
            yield from _keys_of_images(value, (*path, key))


def _context_needs(
    entry: Body, path: FieldPath, controllers: Sequence[Controller], findings: Findings
) -> None:
    config_map = entry.get("configMap")
    if isinstance(config_map, dict):
        namespace, name = config_map.get("namespace"), config_map.get("name")
        findings.reads_config_map(namespace, name, (*path, "configMap"))
    reference = mapping_at(entry.get("globalReference")).get("name")
    if isinstance(reference, str):
        findings.global_entries.add(reference)
    # A call of the API server needs the permission for its path.
    call = mapping_at(entry.get("apiCall"))
    url, at = call.get("urlPath"), (*path, "apiCall", "urlPath")
    if not isinstance(url, str):
        return
    text = url
    # A text with a placeholder in the place of each variable, those in others included.
    for _ in range(_NESTED):
        filled = _VARIABLE.sub(_PLACEHOLDER, text)
        if filled == text:
            break
        text = filled
    steps = [step for step in text.partition("?")[0].split("/") if step]
    if steps[:1] == ["api"]:
        group, rest = CORE, steps[2:]
    elif steps[:1] == ["apis"]:
        group, rest = "".join(steps[1:2]), steps[3:]
    else:
        if not _OPEN.intersection(steps[:1]):
            findings.note(f"no role can be made of what is called: '{url}'", at)
        return
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in _NAMESPACE_PARTS:
        rest = rest[2:]
    if not rest:
        return
    if _PLACEHOLDER in group or _PLACEHOLDER in rest[0]:
        findings.note(f"a variable says which resource is called: '{url}'", at)
        return
    resource = ResourceName(group, "/".join([rest[0], *rest[2:3]]))
    verb = _CALLS.get(str(call.get("method", "GET"))) or ("get" if len(rest) > 1 else "list")
    findings.allow(controllers, [resource], [verb], scan=controllers == _SCANNING)


_RULES: Final = {
    "ClusterPolicy": policy_needs,
    "Policy": policy_needs,
    "ClusterCleanupPolicy": cleanup_needs,
    "CleanupPolicy": cleanup_needs,
}


def needs(bodies: Iterable[Body], definitions: Iterable[Body] = ()) -> Needs:
    """Return the needs of policies beyond the permissions of Kyverno's chart. bodies: policies of
    kyverno.io and policies.kyverno.io, others need nothing of Kyverno; definitions: custom resource
    definitions, for the names of their kinds."""
    findings = Findings(known_kinds(definitions))
    for body in bodies:
        group = str(body.get("apiVersion")).partition("/")[0]
        kind = str(body.get("kind"))
        if group == _PLAIN_GROUP and kind in _RULES:
            _RULES[kind](body, findings)
        elif group == GROUP and kind in KINDS:
            cel_needs(kind.removeprefix(NAMESPACED), body, findings)
    # The permissions that no role of Kyverno's grants; a scan's only if nothing else needs the
    # same.
    missing: list[Permission] = []
    for (controller, group, resource, scan), verbs in findings.verbs.items():
        has = granted(controller).get((group, resource), frozenset())
        also = findings.verbs.get((controller, group, resource, False), set()) if scan else set()
        lacking = tuple(sorted(verbs - has - also))
        if lacking:
            guessed = findings.guesses[group, resource]
            missing.append(Permission(controller, group, resource, lacking, scan, guessed))
    return Needs(
        permissions=tuple(
            sorted(missing, key=attrgetter("controller", "group", "resource", "scan"))
        ),
        config_maps=tuple(sorted(findings.config_maps)),
        global_entries=tuple(sorted(findings.global_entries)),
        unknown=tuple(findings.unknown),
    )


def definitions_beside(folder: Path) -> tuple[Body, ...]:
    """The custom resource definitions in a policy's folder; raises InputError for bad files."""
    file = folder / DEFINITIONS_FILE
    documents = read_file(file) if file.is_file() else ()
    bodies = (document.body for document in documents if isinstance(document.body, dict))
    return tuple(body for body in bodies if body.get("kind") == _DEFINITION)


def as_json(needed: Needs) -> list[Body]:
    """The permissions for the chart's templates; scan and guessed stand where there are such."""
    return [
        {
            "controller": permission.controller.value,
            "group": permission.group,
            "resource": permission.resource,
            "verbs": list(permission.verbs),
            **({"scan": True} if permission.scan else {}),
            **({"guessed": permission.guessed} if permission.guessed else {}),
        }
        for permission in needed.permissions
    ]
