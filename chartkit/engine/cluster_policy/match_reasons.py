"""Why match or exclude takes an object or not: the answers of its filters' checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.cluster_policy.match import (
    Facts,
    FilterCheck,
    Role,
    compile_kinds,
    filter_checks,
    never,
)
from chartkit.engine.cluster_policy.policy import Match, ResourceFilter
from chartkit.engine.context.recorder import Sources
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.engine.kubernetes.selectors import LabelSelector, label_miss, selector_text
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.engine.why import MISSING, Asked, Decision, value_text
from chartkit.model import FieldPath, Json, pointer_of
from chartkit.safe_text import shown
from chartkit.schemas.kind_selectors import parse_kind_selector
from chartkit.wording import abridged

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class MatchReasons:
    """Asks the filters of a rule or an exception about one object."""

    sources: Sources
    facts: Facts
    kind: GroupVersionKind
    subresource: str

    def rule(
        self,
        match: Match,
        exclude: Match | None,
        roles: tuple[Role, Role] = (Role.MATCH, Role.EXCLUDE),
    ) -> Decision:
        """Return the decision of a match with an exclude; roles: of both."""
        decision = self.block(match, roles[0], ("match",))
        if not decision.holds or exclude is None:
            return decision
        excluding = self.block(exclude, roles[1], ("exclude",))
        excluding = replace(excluding, asked=Asked.EXCLUDE)
        if not excluding.holds:
            return replace(decision, parts=(*decision.parts, excluding))
        # What is excluded is not matched.
        text = f"excluded: {excluding.text}"
        return replace(excluding, holds=False, text=text, parts=(decision, excluding))

    def block(self, block: Match, role: Role, path: FieldPath) -> Decision:
        """The decision of a match, with its filters as parts; path: below the sources' body."""
        if not (block.any or block.all):
            return replace(self._filter(block.direct, role, path), asked=Asked.MATCH)
        key, filters = ("any", block.any) if block.any else ("all", block.all)
        parts = [self._filter(row, role, (*path, key, at)) for at, row in enumerate(filters)]
        taken = [part for part in parts if part.holds]
        if block.any:
            holds, deciding = bool(taken), (taken or sorted(parts, key=_nearness)[-1:])[0]
        else:
            refusing = [part for part in parts if not part.holds]
            holds, deciding = not refusing, (refusing or parts)[0]
        text = deciding.text
        if not holds and block.any and len(parts) > 1:
            text = f"none of {len(parts)} filters matches; nearest: {text}"
        if len(parts) == 1:
            return replace(deciding, asked=Asked.MATCH)
        return replace(deciding, asked=Asked.MATCH, holds=holds, text=text, parts=tuple(parts))

    def _filter(self, resource_filter: ResourceFilter, role: Role, path: FieldPath) -> Decision:
        """Return the decision of a filter: the first check that does not hold; its parts are the
        checks, of an object of another kind the kind alone."""
        parts: list[Decision] = []
        for check in filter_checks(resource_filter, role, self.kind, self.subresource):
            parts.append(self._check(check, resource_filter, path))
            if check.asked == Asked.KIND and not parts[-1].holds:
                break
        # What says most of an object that is taken is the last check, beyond its kind.
        deciding = next((part for part in parts if not part.holds), parts[-1])
        texts = [part.text for part in parts if part.asked is not Asked.KIND or len(parts) == 1]
        text = " and ".join(texts) if deciding.holds else deciding.text
        return replace(deciding, asked=Asked.FILTER, text=text, parts=tuple(parts))

    def _check(self, check: FilterCheck, block: ResourceFilter, path: FieldPath) -> Decision:
        holds = check.holds(self.facts)
        asked = Asked(check.asked)
        field, value = self._seen(asked, block)
        location = self.sources.at(*path, *check.path)
        below: FieldPath = ()
        if asked is Asked.LABELS:
            text, below, value = _of_selector(check, block.selector, value, holds)
        elif asked is Asked.NAMESPACE_LABELS:
            text, below, value = _of_selector(check, block.namespace_selector, value, holds)
        elif asked is Asked.ANNOTATIONS:
            text, below, value = _of_annotations(block.annotations or {}, value, holds)
        else:
            if check.asked == Asked.USER:
                subjects = (f"{subject.kind} {subject.name}" for subject in block.subjects)
                wanted: tuple[str, ...] = (*block.roles, *block.cluster_roles, *subjects)
            else:
                wanted = {
                    Asked.KIND: block.kinds,
                    Asked.OPERATION: block.operations,
                    Asked.NAME: (block.name,) if check.path[-1:] == ("name",) else block.names,
                    Asked.NAMESPACE: block.namespaces,
                }.get(Asked(check.asked), ())
            text = _sentence(asked, wanted, value, holds)
        if asked is Asked.ANNOTATIONS and self.kind.kind == "Secret":
            # kubectl keeps the data of a Secret in an annotation.
            text, value = f"the annotations {'match' if holds else 'do not match'}", MISSING
        pointer = pointer_of(*field, *below) if field else None
        return Decision(asked, holds, text, location, pointer, _given(value))

    def _seen(self, asked: Asked, block: ResourceFilter) -> tuple[FieldPath, Json]:
        """Return the field of the object that a check looks at, empty for none, and the value."""
        facts, kind = self.facts, self.kind
        match asked:
            case Asked.KIND:
                is_near = kind.kind in {parse_kind_selector(text).kind for text in block.kinds}
                is_near = is_near and not compile_kinds(block.kinds)(kind, self.subresource)
                names = (*(kind if is_near else (kind.kind,)), self.subresource)
                return ("kind",), "/".join(filter(None, names))
            case Asked.NAMESPACE if facts.kind == "Namespace":
                return ("metadata", "name"), facts.own_name
            case Asked.NAMESPACE_LABELS:
                return (), facts.namespace_labels
            case Asked.OPERATION:
                return (), facts.operation
            case Asked.USER:
                return (), None if facts.user is None else facts.user.name
            case Asked.NAME | Asked.NAMESPACE | Asked.LABELS | Asked.ANNOTATIONS:
                return ("metadata", str(asked)), getattr(facts, asked)
        return (), None


def _nearness(decision: Decision) -> tuple[bool, int]:
    """Return how near an object came to a filter: its kind fits, and few checks do not hold."""
    refusing = [part for part in decision.parts if not part.holds]
    return all(part.asked is not Asked.KIND for part in refusing), -len(refusing)


def _given(value: Json) -> Json:
    return MISSING if value in (None, "") else value


def _sentence(asked: Asked, names: tuple[str, ...], value: Json, holds: bool) -> str:
    """Return a check and its answer: `namespace shop is not shp`."""
    if asked is Asked.FILTER:
        return "the filter is empty"
    wanted = f"{'one of ' if len(names) > 1 else ''}{shown(abridged(names, _NAMED))}"
    if asked is Asked.USER and value is None:
        ignored = "the user is unknown, and the filter"
        return f"{ignored} forgets {wanted}" if holds else f"{ignored} wants {wanted}"
    given = value_text(_given(value)) if value else "none"
    if asked is Asked.USER:
        return f"user {given} is {'' if holds else 'not '}{wanted}"
    if holds and wanted == given:
        return f"{asked} is {given}"
    return f"{asked} {given} {'matches' if holds else 'is not'} {wanted}"


def _of_selector(
    check: FilterCheck, selector: LabelSelector | None, labels: Mapping[str, str], holds: bool
) -> tuple[str, FieldPath, Json]:
    noun = "label" if check.asked == Asked.LABELS else "namespace label"
    assert selector is not None
    if check.holds is never:
        return "a Namespace is in no namespace that the selector takes", (), None
    miss = None if holds else label_miss(selector, labels, noun)
    if miss is not None:
        return miss.text, (miss.key,) if miss.key else (), miss.value
    return f"{noun}s match {shown(selector_text(selector))}", (), None


def _of_annotations(
    wanted: Mapping[str, str], annotations: Mapping[str, str], holds: bool
) -> tuple[str, FieldPath, Json]:
    for key, text in () if holds else wanted.items():
        fits, fits_text = compile_wildcard(key), compile_wildcard(text)
        named = {name: value for name, value in annotations.items() if fits(name)}
        if any(map(fits_text, named.values())):
            continue
        name, value = next(iter(named.items()), (key, MISSING))
        sides = f"{value_text(value)}, not {value_text(text)}"
        return f"annotation {shown(name)} is {sides}", (name,), value
    return "the annotations match", (), None
