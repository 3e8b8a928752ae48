"""The leaves of a ClusterPolicy: match, preconditions, patterns, conditions, lists, bodies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path as File
from typing import Final

from chartkit.addons.migrate.proof.leaves.cel import leaves_of_expressions
from chartkit.addons.migrate.proof.leaves.jmespath import JmesPlaces, literals_of, queries
from chartkit.addons.migrate.proof.leaves.leaf import (
    MOST,
    Leaf,
    around,
    around_all,
    compared,
    in_turns,
    of_pattern,
    place,
)
from chartkit.addons.migrate.proof.leaves.paths import (
    ABSENT,
    EACH,
    GLOBAL,
    IMAGE,
    Lookup,
    Path,
    configmap_lookup,
    source_lookups,
    target_lookup,
    url_lookup,
)
from chartkit.documents.reader import parse_yaml
from chartkit.engine.cluster_policy.conditions.parse import FlatList, parse_conditions
from chartkit.engine.cluster_policy.pattern.anchors import Anchor, AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.policy import Match, Policy, ResourceFilter, Rule, read_match
from chartkit.engine.context.variables.syntax import find_variables, split_text
from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, Resource, mapping_at, mappings_at, pointer_steps

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_SECURITY: Final = parse_yaml((File(__file__).parent / "pod_security.yaml").read_text("utf-8"))


def pod_security_leaves(body: Body, group: str) -> Iterator[Leaf]:
    """Yield the leaves of every control; body: the rule's `podSecurity`."""
    for text, values in _SECURITY["pod"].items():
        yield _leaf(("object", "spec"), text, values, group)
    for text, values in _SECURITY["both"].items():
        yield _leaf(("object", "spec", "securityContext"), text, values, group)
    for containers in _CONTAINERS:
        base: Path = ("object", "spec", containers, EACH)
        for text, values in {**_SECURITY["both"], **_SECURITY["security"]}.items():
            yield _leaf((*base, "securityContext"), text, values, group)
        for text, values in _SECURITY["container"].items():
            yield _leaf(base, text, values, group)
    annotation = (
        "object",
        "metadata",
        "annotations",
        "container.apparmor.security.beta.kubernetes.io/app",
    )
    yield Leaf(annotation, (ABSENT, "runtime/default", "unconfined", "localhost/x"), group, 1)
    for one in body.get("exclude") or ():
        for image in (one.get("images") or ()) if isinstance(one, dict) else ():
            sample = str(image).replace("*", "x").replace("?", "a")
            path = ("object", "spec", "containers", EACH, "image")
            yield Leaf(path, (sample, "unlike:1.0"), group)


def _leaf(base: Path, text: str, values: Iterable[Json], group: str) -> Leaf:
    steps: list[object] = []
    for part in text.split("."):
        name = part.removesuffix("[]")
        steps += [name] if name == part else [name, EACH]
    tried = tuple(ABSENT if value is None else value for value in values)
    return Leaf((*base, *steps), tried, group, 1)  # type: ignore[arg-type]


_OBJECT: Final[Path] = ("object",)
_TAKING: Final = frozenset(("equal", "equals", "in", "anyin", "allin"))
"""Operators of conditions that the values meet which they are given."""


def legacy_leaves(policy: Policy) -> Iterator[Leaf]:
    """Yield the leaves of each rule, in the order of the rule."""
    for rule in policy.rules:
        yield from _Leaves(rule.name).of_rule(rule)


def cleanup_leaves(policy: Resource) -> Iterator[Leaf]:
    """Yield the leaves of a cleanup policy, whose expressions name the object `target`."""
    spec: Body = policy.body["spec"]
    leaves = _Leaves(policy.name, {"target": (_OBJECT,)})
    yield from leaves.of_cleanup(spec)


def exception_leaves(exception: Resource) -> Iterator[Leaf]:
    """Yield the leaves of a PolicyException."""
    yield from _Leaves(exception.name).of_cleanup(exception.body["spec"])


class _Leaves:
    """The leaves of one rule or cleanup policy."""

    def __init__(self, group: str, scope: Mapping[str, tuple[Path, ...]] | None = None) -> None:
        self._found: list[Leaf] = []
        self._group = group
        self._reader = JmesPlaces(self._note, scope or {})

    def of_cleanup(self, spec: Body) -> list[Leaf]:
        """Return the leaves of the specification of a cleanup policy or an exception."""
        self._match(read_match(spec["match"]), meets=True)
        if spec.get("exclude") is not None:
            self._match(read_match(spec["exclude"]), meets=False)
        self._context(mappings_at(spec, "context"))
        self._conditions(spec.get("conditions"))
        return self._found

    def of_rule(self, rule: Rule) -> list[Leaf]:
        """Return the leaves of a rule."""
        self._match(rule.match, meets=True)
        if rule.exclude is not None:
            self._match(rule.exclude, meets=False)
        self._context(rule.context)
        self._conditions(rule.preconditions, meets=True)
        self._block(rule.body.get("validate") or {}, _OBJECT)
        self._cel(rule)
        body = rule.mutate or {}
        places = [self._target(each) for each in mappings_at(body, "targets")] or [_OBJECT]
        for where in places:
            self._overlay(body.get("patchStrategicMerge"), where)
            self._patches(body.get("patchesJson6902"), where)
        for one in mappings_at(body, "foreach"):
            self._loop(one, self._mutation_block)
        self._reader.text(rule.generate or {})
        for lookup in source_lookups(rule.generate):
            self._look_up(lookup, None)
        for entry in rule.verify_images:
            self._images(entry)
        return self._found

    def _add(self, path: Path, values: Iterable[Json], met: int = 0) -> None:
        self._found.append(Leaf(path, tuple(values), self._group, met))

    def _note(self, path: Path, literals: Iterable[Json]) -> None:
        values = around_all(compared(path, literals))
        for one in place(path):
            self._add(one, values)

    # Match and exclude

    def _match(self, match: Match, *, meets: bool) -> None:
        for resource_filter in (match.direct, *match.any, *match.all):
            self._filter(resource_filter, meets=meets)

    def _filter(self, one: ResourceFilter, *, meets: bool) -> None:
        names = (one.name, *one.names) if one.name else one.names
        self._texts(("object", "metadata", "name"), names, meets=meets)
        self._texts(("object", "metadata", "namespace"), one.namespaces, meets=meets)
        for key, text in (one.annotations or {}).items():
            self._label(("object", "metadata", "annotations"), key, text, meets=meets)
        self._selector(("object", "metadata", "labels"), one.selector, meets=meets)
        self._selector(("namespaceLabels",), one.namespace_selector, meets=meets)
        self._texts(("operation",), one.operations, meets=meets)
        self._texts(("roles", EACH), one.roles, meets=meets)
        self._texts(("clusterRoles", EACH), one.cluster_roles, meets=meets)
        for subject in one.subjects:
            if subject.kind == "Group":
                self._texts(("userInfo", "groups", EACH), (subject.name,), meets=meets)
            else:
                account = f"system:serviceaccount:{subject.namespace}:{subject.name}"
                name = account if subject.kind == "ServiceAccount" else subject.name
                self._texts(("userInfo", "username"), (name,), meets=meets)

    def _texts(self, path: Path, texts: Iterable[str], *, meets: bool) -> None:
        rows = [of_pattern(text) for text in texts]
        if not rows:
            return
        met, missed = in_turns(met for met, _ in rows), in_turns(missed for _, missed in rows)
        first, others = (met, missed[:MOST]) if meets else (missed[:MOST], met)
        self._add(path, [*first, *others], len(first))

    def _label(self, path: Path, key: str, text: str, *, meets: bool) -> None:
        sample = key.replace("*", "x").replace("?", "a")
        met, missed = of_pattern(text)
        met, missed = (met, [ABSENT, *missed]) if meets else ([ABSENT, *missed], met)
        self._add((*path, sample), [*met, *missed], len(met))

    def _selector(self, path: Path, selector: LabelSelector | None, *, meets: bool) -> None:
        if selector is None:
            return
        for key, text in selector.labels.items():
            self._label(path, key, text, meets=meets)
        for requirement in selector.expressions:
            wanted = meets is (requirement.operator in ("In", "Exists"))
            for text in requirement.values or ("x",):
                self._label(path, requirement.key, text, meets=wanted)

    # Context and conditions

    def _context(self, entries: Iterable[Body]) -> None:
        for entry in entries:
            name = entry.get("name")
            if isinstance(name, str):
                self._reader = self._reader.within(**{name: self._entry(entry)})

    def _entry(self, entry: Body) -> tuple[Path, ...]:
        variable = entry.get("variable")
        if isinstance(variable, dict):
            return self._variable(variable)
        lookup = configmap_lookup(entry.get("configMap"))
        if lookup is not None:
            self._look_up(lookup, entry)
            return (lookup.path,)
        call = entry.get("apiCall")
        if isinstance(call, dict):
            return self._call(call)
        found = entry.get("globalReference")
        if isinstance(found, dict) and isinstance(found.get("name"), str):
            paths: tuple[Path, ...] = ((GLOBAL, found["name"]),)
            text = found.get("jmesPath")
            return self._reader.below(text, paths) if isinstance(text, str) else paths
        self._reader.text(entry)
        asked = entry.get("imageRegistry")
        if not isinstance(asked, dict):
            return ()
        self._add((IMAGE,), ())
        text = asked.get("jmesPath")
        return self._reader.below(text, ((IMAGE,),)) if isinstance(text, str) else ((IMAGE,),)

    def _variable(self, variable: Body) -> tuple[Path, ...]:
        paths = list(self._reader.text(variable.get("value")))
        text = variable.get("jmesPath")
        if isinstance(text, str):
            bare = list(queries(text)) or [text]
            for query in bare:
                paths += self._reader.query(query)
        return tuple(dict.fromkeys(paths))

    def _call(self, call: Body) -> tuple[Path, ...]:
        lookup = url_lookup(call.get("urlPath"))
        if lookup is None:
            self._reader.text(call)
            return ()
        self._look_up(lookup, call.get("urlPath"))
        text = call.get("jmesPath")
        if not isinstance(text, str):
            return (lookup.path,)
        bare = next(iter(queries(text)), text)
        return self._reader.below(bare, (lookup.path,))

    def _look_up(self, lookup: Lookup, names: Json) -> None:
        """Note an object or a list that is looked up; names: what its name is made of."""
        self._found.append(Leaf(lookup.path, (), self._group, lookup=lookup))
        for key, text in lookup.labels:
            labels: Path = (*lookup.path, EACH, "metadata", "labels")
            self._label(labels, key, text, meets=True)
        for path in self._reader.text(names):
            self._note(path, ("x",))

    def _conditions(self, body: Json, *, meets: bool = False) -> None:
        """Note the places of conditions; meets: whether a rule applies to what meets them."""
        if body is None:
            return
        try:
            parsed = parse_conditions(body)
        except ChartkitError:
            return
        if isinstance(parsed, FlatList):
            conditions = parsed.conditions
        else:
            conditions = (*(parsed.any or ()), *(parsed.all or ()))
        for condition in conditions:
            if meets and condition.operator.lower() in _TAKING:
                wanted = list(literals_of(condition.value))
                for path in self._reader.text(condition.key):
                    values = compared(path, wanted)
                    for one in place(path):
                        self._add(one, values, len(values))
            self._reader.compare(condition.key, condition.value)

    # Validation

    def _block(self, body: Body, base: Path) -> None:
        self._pattern(body.get("pattern"), base)
        group = self._group
        for index, pattern in enumerate(body.get("anyPattern") or ()):
            self._group = f"{group}/anyPattern[{index}]"
            self._pattern(pattern, base)
        self._group = group
        if isinstance(body.get("deny"), dict):
            self._conditions(body["deny"].get("conditions"))
        for one in mappings_at(body, "foreach"):
            self._loop(one, self._block)
        if isinstance(body.get("podSecurity"), dict):
            self._found += pod_security_leaves(body["podSecurity"], group)

    def _cel(self, rule: Rule) -> None:
        """Note the places of a rule's expressions in CEL."""
        body = mapping_at(rule.body, "validate", "cel")
        variables = {one["name"]: one["expression"] for one in mappings_at(body, "variables")}
        blocks = (*rule.cel_preconditions, *mappings_at(body, "expressions"))
        texts = [(f"cel[{index}]", one["expression"]) for index, one in enumerate(blocks)]
        self._found += leaves_of_expressions(self._group, variables, texts)

    def _loop(self, body: Body, inside: Callable[[Body, Path], None]) -> None:
        outer = self._reader
        paths = tuple((*path, EACH) for path in outer.query(str(body.get("list") or "")))
        self._reader = outer.within(element=paths)
        for path in paths:
            self._note(path, ())
        self._context(mappings_at(body, "context"))
        self._conditions(body.get("preconditions"), meets=True)
        for path in paths or ((),):
            for one in place(path) or ((),):
                inside(body, one)
        self._reader = outer

    def _pattern(self, pattern: Json, path: Path) -> None:
        if isinstance(pattern, dict):
            for key, member in pattern.items():
                anchor = parse_anchor(key)
                name = anchor.key if anchor else key
                for text in dict.fromkeys(name.replace("*", one).replace("?", one) for one in "x1"):
                    self._keyed(anchor, member, (*path, text))
        elif isinstance(pattern, list):
            for member in pattern:
                self._pattern(member, (*path, EACH))
        elif path:
            self._scalar(pattern, path)

    def _keyed(self, anchor: Anchor | None, pattern: Json, path: Path) -> None:
        if anchor is not None and anchor.kind is AnchorKind.NEGATION:
            self._add(path, [ABSENT, "x", {}, []], 1)
            return
        if anchor is not None and anchor.kind is AnchorKind.EQUALITY:
            self._add(path, [ABSENT], 1)
        self._pattern(pattern, path)

    def _scalar(self, pattern: Json, path: Path) -> None:
        found = [*queries(pattern)]
        if found:
            self._reader.compare(pattern, None)
            self._add(path, around_all(literals_of(pattern)))
            return
        met, missed = of_pattern(pattern)
        self._add(path, [*met, *missed], len(met))

    # Mutation, generation and images

    def _target(self, body: Body) -> Path:
        """Note the objects that a target names, and return their place."""
        lookup = target_lookup(body)
        self._look_up(lookup, body.get("name"))
        for path in self._reader.text(body.get("namespace")):
            self._note(path, (DEFAULT_NAMESPACE,))
        each: Path = lookup.path if lookup.name else (*lookup.path, EACH)
        self._reader = self._reader.within(target=(each,))
        self._context(mappings_at(body, "context"))
        self._conditions(body.get("preconditions"))
        return each

    def _mutation_block(self, body: Body, _base: Path) -> None:
        self._overlay(body.get("patchStrategicMerge"), _OBJECT)
        self._patches(body.get("patchesJson6902"))
        for one in mappings_at(body, "foreach"):
            self._loop(one, self._mutation_block)

    def _overlay(self, patch: Json, path: Path) -> None:
        self._pattern(patch, path)

    def _patches(self, text: Json, base: Path = _OBJECT) -> None:
        self._reader.text(text)
        if not isinstance(text, str):
            return
        try:
            operations = parse_yaml(text)
        except ChartkitError:
            return
        for one in operations if isinstance(operations, list) else ():
            pointer = one.get("path") if isinstance(one, dict) else None
            if isinstance(pointer, str):
                literals = literals_of(one.get("value"))
                values = [value for each in literals for value in around(each)]
                self._add((*base, *_pointed(pointer)), [*values, ABSENT])

    def _images(self, entry: Body) -> None:
        for reference in entry.get("imageReferences") or ():
            if isinstance(reference, str):
                met, missed = of_pattern(reference)
                self._add(
                    ("object", "spec", "containers", EACH, "image"), [*met, *missed], len(met)
                )


_NUMBER: Final = re.compile(r"\{\{\s*elementIndex\d*\s*\}\}")


def _pointed(pointer: str) -> Path:
    """Return the path of a pointer; variables in it are numbers of elements, or any key."""
    pointer = _NUMBER.sub("0", pointer)
    steps = pointer_steps("x".join(split_text(pointer, find_variables(pointer))))
    return tuple(EACH if step == "-" or step.isdigit() else step for step in steps)
