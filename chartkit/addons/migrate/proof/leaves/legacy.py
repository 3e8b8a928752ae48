"""The leaves of a ClusterPolicy as it is written: its match, its patterns and patches; and the
literals that it has besides."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, product
from typing import Final

from chartkit.addons.migrate.proof.leaves.leaf import (
    MOST,
    Leaf,
    around_all,
    in_turns,
    of_pattern,
)
from chartkit.addons.migrate.proof.leaves.paths import ABSENT, EACH, Path, Step
from chartkit.documents.reader import parse_yaml
from chartkit.engine.cluster_policy.pattern.build import Anchor, AnchorKind, parse_anchor
from chartkit.engine.cluster_policy.policy import Match, Policy, ResourceFilter, Rule, read_match
from chartkit.engine.context.variables.syntax import find_variables, split_text
from chartkit.engine.jmespath.expression import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.engine.kubernetes.selectors import LabelSelector
from chartkit.errors import ChartkitError
from chartkit.model import Body, Json, Resource, leaves, mappings_at, pointer_steps

_OBJECT: Final[Path] = ("object",)
_WORDED: Final = frozenset(("match", "exclude", "name", "message", "operator", "order"))
"""Fields of rules and conditions whose texts are compared with nothing."""
_QUERIES: Final = frozenset(("jmesPath", "list"))
_LISTED: Final = re.compile(r"request\.object\.(?P<path>[\w.]+)(\[(?P<names>[\w, ]+)\])?(\[\])?")
_ELEMENT: Final = re.compile(r"\belement\.([A-Za-z]\w*(?:\.\w+)*)")
_NUMBER: Final = re.compile(r"\{\{\s*elementIndex\d*\s*\}\}")


def legacy_leaves(policy: Policy, known: Collection[Path] = ()) -> Iterator[Leaf]:
    """Yield the leaves of each rule, in the order of the rule; known: paths of the new form, by
    which the elements of its loops are found."""
    for rule in policy.rules:
        yield from _Leaves(rule.name, known).of_rule(rule)


def matched_leaves(resource: Resource) -> Iterator[Leaf]:
    """Yield the leaves of the match of a cleanup policy or a PolicyException."""
    spec: Body = resource.body["spec"]
    exclude = spec.get("exclude")
    yield from _Leaves(resource.name).of_match(
        read_match(spec["match"]), None if exclude is None else read_match(exclude)
    )


def literals_in(body: Body) -> list[Json]:
    """Return the scalars that a rule has outside of its match, each once: those of its values, of
    its expressions, and of the patches that it holds as texts."""
    return list({(type(value), value): value for value in _scalars(body)}.values())


def _scalars(value: Json, key: str = "") -> Iterator[Json]:
    if isinstance(value, dict):
        for name, member in value.items():
            if name not in _WORDED:
                yield from _scalars(member, name)
    elif isinstance(value, list):
        for member in value:
            yield from _scalars(member)
    elif isinstance(value, str) and ("\n" in value and not find_variables(value)):
        try:
            yield from _scalars(parse_yaml(value))
        except ChartkitError:
            return
    elif isinstance(value, str) and (find_variables(value) or key in _QUERIES):
        for query in [variable.query for variable in find_variables(value)] or [value]:
            try:
                yield from _literals(parse(query))
            except JMESPathError:
                continue
    else:
        yield value


def _literals(node: Node) -> Iterator[Json]:
    if node.kind is Kind.LITERAL:
        yield from _scalars(node.value)
    for child in node.children:
        yield from _literals(child)


def _listed(query: Json) -> Iterator[Path]:
    """Yield the places of the elements of a list, or of several in one, by the text of a query."""
    match = _LISTED.fullmatch(str(query))
    for name in match["names"].split(",") if match and match["names"] else [""]:
        if match:
            steps = (*match["path"].split("."), name.strip())
            yield (*_OBJECT, *filter(None, steps), EACH)


def _plain(step: str | int) -> str | Step:
    """Return a step of a pattern's path as a step of a place."""
    if isinstance(step, int):
        return EACH
    anchor = parse_anchor(step)
    return step if anchor is None else anchor.key


class _Leaves:
    """The leaves of one rule, cleanup policy or exception."""

    def __init__(self, group: str, known: Collection[Path] = ()) -> None:
        self._found: list[Leaf] = []
        self._group = group
        self._known = known

    def of_match(self, match: Match, exclude: Match | None) -> list[Leaf]:
        """Return the leaves of a match and an exclude."""
        for block, meets in ((match, True), (exclude, False)):
            filters = () if block is None else (block.direct, *block.any, *block.all)
            for resource_filter in filters:
                self._filter(resource_filter, meets=meets)
        return self._found

    def of_rule(self, rule: Rule) -> list[Leaf]:
        """Return the leaves of a rule."""
        self.of_match(rule.match, rule.exclude)
        self._pattern(rule.validate.pattern, _OBJECT)
        group = self._group
        for index, pattern in enumerate(rule.validate.any_pattern or ()):
            self._group = f"{group}/anyPattern[{index}]"
            self._pattern(pattern, _OBJECT)
        self._group = group
        for loop in rule.validate.foreach:
            patterns = (loop.get("pattern"), *(loop.get("anyPattern") or ()))
            listed = tuple(_listed(loop.get("list")))
            named = dict.fromkeys(_ELEMENT.findall(json.dumps(loop, default=str)))
            for place, steps in product(listed, named):
                self._add((*place, *steps.split(".")), [ABSENT])
            for path in dict.fromkeys(chain(listed, *map(self._elements, patterns))):
                for pattern in patterns:
                    self._pattern(pattern, path)
        body = rule.mutate or {}
        for patch in (body, *mappings_at(body, "foreach")) if not body.get("targets") else ():
            self._pattern(patch.get("patchStrategicMerge"), _OBJECT)
            self._patches(patch.get("patchesJson6902"))
        for entry in rule.verify_images:
            images = [
                image for image in entry.get("imageReferences") or () if isinstance(image, str)
            ]
            self._texts(("object", "spec", "containers", EACH, "image"), images, meets=True)
        return self._found

    def _add(self, path: Path, values: Iterable[Json], met: int = 0) -> None:
        self._found.append(Leaf(path, tuple(values), self._group, met))

    def _filter(self, filter_: ResourceFilter, *, meets: bool) -> None:
        names = (filter_.name, *filter_.names) if filter_.name else filter_.names
        self._texts(("object", "metadata", "name"), names, meets=meets)
        self._texts(("object", "metadata", "namespace"), filter_.namespaces, meets=meets)
        for key, text in (filter_.annotations or {}).items():
            self._label(("object", "metadata", "annotations"), key, text, meets=meets)
        self._selector(("object", "metadata", "labels"), filter_.selector, meets=meets)
        self._selector(("namespaceLabels",), filter_.namespace_selector, meets=meets)
        self._texts(("operation",), filter_.operations, meets=meets)
        self._texts(("roles", EACH), filter_.roles, meets=meets)
        self._texts(("clusterRoles", EACH), filter_.cluster_roles, meets=meets)
        for subject in filter_.subjects:
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

    def _pattern(self, pattern: Json, path: Path) -> None:
        if isinstance(pattern, dict):
            for key, member in pattern.items():
                anchor = parse_anchor(key)
                name = anchor.key if anchor else key
                for text in dict.fromkeys(
                    name.replace("*", letter).replace("?", letter) for letter in "x1"
                ):
                    self._keyed(anchor, member, (*path, text))
        elif isinstance(pattern, list):
            for member in pattern:
                self._pattern(member, (*path, EACH))
        elif path != _OBJECT and not (isinstance(pattern, str) and find_variables(pattern)):
            met, missed = of_pattern(pattern)
            self._add(path, [*met, *missed], len(met))

    def _elements(self, pattern: Json) -> Iterator[Path]:
        """Yield the places of what a loop goes through: before the paths of the new form that end
        as the pattern's do."""
        ends = dict.fromkeys(tuple(map(_plain, path)) for path, _ in leaves(pattern) if path)
        starts = (
            path[: -len(end)] for path in self._known for end in ends if path[-len(end) :] == end
        )
        yield from dict.fromkeys(start for start in starts if start[-1:] == (EACH,))

    def _keyed(self, anchor: Anchor | None, pattern: Json, path: Path) -> None:
        if anchor is not None and anchor.kind is AnchorKind.NEGATION:
            self._add(path, [ABSENT, "x", {}, []], 1)
            return
        if anchor is not None and anchor.kind is AnchorKind.EQUALITY:
            self._add(path, [ABSENT], 1)
        self._pattern(pattern, path)

    def _patches(self, text: Json) -> None:
        """Add the fields that a JSON patch changes; variables in its paths are numbers of elements,
        or any key."""
        try:
            operations = parse_yaml(text) if isinstance(text, str) else ()
        except ChartkitError:
            return
        for operation in operations if isinstance(operations, list) else ():
            pointer = operation.get("path") if isinstance(operation, dict) else None
            if isinstance(pointer, str):
                pointer = _NUMBER.sub("0", pointer)
                steps = pointer_steps("x".join(split_text(pointer, find_variables(pointer))))
                path = (EACH if step == "-" or step.isdigit() else step for step in steps)
                values = around_all(_scalars(operation.get("value")))
                self._add((*_OBJECT, *path), [*values, ABSENT])
