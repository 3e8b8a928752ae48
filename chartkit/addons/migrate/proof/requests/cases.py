"""The requests of a proof, those that tell most first: what is given, what meets each rule, each
place changed alone, with every operation and user, pairs of places, then chance."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice, repeat
from typing import Final

from chartkit.addons.migrate.proof.leaves.paths import (
    ABSENT,
    CLUSTER,
    IMAGE,
    SUBRESOURCE,
    Mixed,
    Path,
    with_value,
)
from chartkit.addons.migrate.proof.requests import schema
from chartkit.addons.migrate.proof.requests.case import Case
from chartkit.addons.migrate.proof.requests.cluster import home_of, kind_of_key, moved
from chartkit.addons.migrate.proof.requests.contents import Contents
from chartkit.addons.migrate.proof.requests.facets import Facet
from chartkit.addons.migrate.proof.requests.storable import IDENTITY, refusal, with_defaults
from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE, GroupVersionKind
from chartkit.model import Body, Json, mapping_at

_SOMEBODY: Final[Body] = {"username": "admin", "groups": ["system:authenticated"]}
_MOST_REPEATED: Final = 300
"""So many requests in a row that were made before end a stage: there are no others."""
_MOST_REFUSED: Final = 1_000
"""So many requests in a row that no API server sends, or that were made before, end a stage."""
_FEW: Final = 8
_TOGETHER: Final = 30
"""So many changes of one learned request come before a better one is looked for."""
_DEFAULTED: Final = frozenset(("limits", "requests"))
"""An API server sets requests where limits are set: as written, each may be there alone."""
_AS_WRITTEN: Final = 4
"""Of so many requests one is also made without an API server's defaults."""
_CONTROLLED: Final = 2
"""Of so many Pods one is also asked about as a controller's."""
_FUTILE: Final = 400
"""So many requests by chance without a new outcome end a proof."""
_CHANGES: Final = 6
"""The most places that a request by chance changes."""
_OBJECTS: Final = ("object", "oldObject")
_CHANGES_OF_STORED: Final = ("UPDATE", "DELETE")
"""Operations on existing objects, which only an API server reports."""
_UID: Final = "00000000-0000-0000-0000-000000000001"


@dataclass(frozen=True, slots=True)
class Learned:
    """A request that had a new outcome.

    groups: the rules and policies that decided it; faults: how many of the rules it failed.
    """

    case: Case
    groups: frozenset[str]
    faults: int = 0


@dataclass(frozen=True, slots=True)
class Space:
    """The requests of one kind: its given and least objects, and the facets.

    learned: requests that had a new outcome, which are changed further; contents: those of the
    documents that are made.
    """

    kind: GroupVersionKind
    bases: tuple[Case, ...]
    facets: tuple[Facet, ...]
    controllers: tuple[GroupVersionKind, ...] = ()
    learned: list[Learned] = field(default_factory=list)
    contents: Contents = field(default_factory=Contents)


def base_case(body: Body, origin: str, around: Body | None = None) -> Case:
    """Return the creation of an object by a user without roles; around: other parts of the
    request's document, such as what exists in the cluster, and None for the user of a scan."""
    document: Body = {"object": body, "operation": "CREATE", "userInfo": _SOMEBODY}
    document |= around or {}
    if document["userInfo"] is None:
        del document["userInfo"]
    if CLUSTER in document:
        document[CLUSTER] = moved(document[CLUSTER], DEFAULT_NAMESPACE, home_of(body))
    return Case(document, origin)


@dataclass(slots=True)
class Cases:
    """Makes each request once.

    is_over: asked before each request, whether or not it is made; most: how many are made, also
    those that no API server sends; left_out: why requests were not made; refused: the states of
    places that an API server refused.
    """

    is_over: Callable[[], bool] = lambda: False
    most: int = 400_000
    left_out: Counter[str] = field(default_factory=Counter)
    refused: set[tuple[Path, str]] = field(default_factory=set)
    _seen: set[Hashable] = field(default_factory=set)
    _contents: Contents = field(default_factory=Contents)

    def of(self, spaces: Sequence[Space], seed: str) -> Iterator[Case]:
        """Yield the requests of all kinds in turns."""
        chance = random.Random(seed)
        spaces = [replace(space, contents=self._contents) for space in spaces]
        for stages in _STAGES if spaces else ():
            made = [
                (self._once(stage(space, chance), space, is_endless=stage in _ENDLESS), share)
                for space in spaces
                for stage, share in stages.items()
            ]
            yield from in_turns([cases for cases, _ in made], [share for _, share in made])

    def _once(self, cases: Iterable[Case], space: Space, *, is_endless: bool) -> Iterator[Case]:
        rotation, repeated, fruitless = cycle(space.controllers or (schema.POD,)), 0, 0
        for turn, case in enumerate(cases):
            seen, left_out = len(self._seen), self.left_out.total() if is_endless else 0
            yield from self._accepted(case, raw=turn % _AS_WRITTEN == 0)
            if space.controllers and turn % _CONTROLLED == 0:
                yield from self._accepted(
                    _controlled(case, next(rotation)), raw=turn % _AS_WRITTEN == 0
                )
            repeated = repeated + 1 if is_endless and len(self._seen) == seen else 0
            is_new = is_endless and len(self._seen) - seen > self.left_out.total() - left_out
            fruitless = fruitless + 1 if is_endless and not is_new else 0
            if repeated > _MOST_REPEATED or fruitless > _MOST_REFUSED:
                return
            if len(self._seen) >= self.most or self.is_over():
                return

    def _accepted(self, case: Case, *, raw: bool) -> Iterator[Case]:
        key = self._contents.of(case.document)
        if key in self._seen:
            return
        self._seen.add(key)
        reason = refusal(case.document, self._contents)
        if reason:
            self.left_out[reason] += 1
            self.refused.update(case.tries[-1:])
            return
        stored = as_sent(case, self._contents)
        changes = case.document.get("operation") in _CHANGES_OF_STORED
        raw = raw or any(not _DEFAULTED.isdisjoint(path) for path, _ in case.tries[-1:])
        if stored is case or (raw and not changes):
            yield case
        if stored is not case:
            key = self._contents.of(stored.document)
            if key not in self._seen:
                self._seen.add(key)
                yield stored


def is_of_another(case: Case, spaces: Sequence[Space]) -> bool:
    """Report whether a request about a subresource has another operation, or an object of another
    kind, than those have."""
    part = case.document.get(SUBRESOURCE)
    return part is not None and not any(
        base.document["operation"] == case.document.get("operation")
        and base.document["object"]["kind"] == mapping_at(case.document, "object").get("kind")
        for space in spaces
        for base in space.bases
        if base.document.get(SUBRESOURCE) == part
    )


def as_sent(case: Case, contents: Contents | None = None) -> Case:
    """Return a request as an API server sends it: with the defaults of its kind, and of an object
    that is there with the identifier that it got."""
    document, contents = case.document, contents or Contents()
    changed = {
        key: _stored(document[key], document.get("operation"), contents)
        for key in _OBJECTS
        if document.get(key)
    }
    if all(document[key] is body for key, body in changed.items()):
        return case
    return Case({**document, **changed}, case.origin, case.tries, (case.change, "as sent"))


def _stored(body: Body, operation: Json, contents: Contents) -> Body:
    """Return an object as an API server sends it; the same one where it is sent as it is."""
    stored = with_defaults(body, contents)
    metadata = stored.get("metadata")
    if operation not in _CHANGES_OF_STORED or not isinstance(metadata, dict) or "uid" in metadata:
        return stored
    return {**stored, "metadata": {**metadata, "uid": _UID}}


def _controlled(case: Case, kind: GroupVersionKind) -> Case:
    document = case.document
    changed = {**document, "object": schema.as_controller(document["object"], kind)}
    if document.get("oldObject"):
        changed["oldObject"] = schema.as_controller(document["oldObject"], kind)
    return Case(changed, case.origin, case.tries, case.change)


def in_turns(found: Sequence[Iterator[Case]], shares: Iterable[int] = repeat(1)) -> Iterator[Case]:
    """Yield some of each in turns until all have ended; shares: how many of each."""
    waiting = list(zip(found, shares, strict=False))
    while waiting:
        for cases, share in tuple(waiting):
            case = None
            for case in islice(cases, share):
                yield case
            if case is None:
                waiting.remove((cases, share))


# Stages


def _given(space: Space, _chance: random.Random) -> Iterator[Case]:
    yield from space.bases


def _meeting(space: Space, _chance: random.Random) -> Iterator[Case]:
    """Yield, for each rule, the objects with every place of it met, and with every one missed."""
    for group in _groups(space):
        facets = [facet for facet in space.facets if group in facet.groups]
        for base in space.bases[:4]:
            yield with_values(base, [(facet, facet.values[0]) for facet in facets], space)
            yield with_values(base, [(facet, _missed(facet)) for facet in facets], space)
    for base in space.bases[:1]:
        yield with_values(base, [(facet, facet.values[0]) for facet in space.facets], space)
    for base in met_bases(space)[:1]:
        yield base
        for facet in [candidate for candidate in space.facets if candidate.met][:_FEW]:
            yield from _operations(with_values(base, [(facet, _missed(facet))], space), base)


def _single(space: Space, _chance: random.Random) -> Iterator[Case]:
    """Yield objects with one place changed: first those that meet all rules and the least ones,
    then one of many elements, then those that meet one rule."""
    met = met_bases(space)
    bases = (*met[:1], *space.bases[:2], *met[1:])
    most = max((len(facet.values) for facet in space.facets), default=0)
    no, every = Mixed.NO, Mixed.EVERY
    for chosen, mixed in ((bases[:2], no), (bases[:1], every), (bases[2:], no)):
        for index in range(most):
            for base in chosen:
                for facet in space.facets:
                    if index < len(facet.values) and mixed in facet.mixed:
                        change = (facet, facet.tried[index])
                        yield with_values(base, [change], space, mixed=mixed)


def _decided(space: Space, _chance: random.Random) -> Iterator[Case]:
    """Yield the requests that had a new outcome with every operation, and with one place changed,
    in turns: first those that rules let pass, where whatever a value does is seen, then those that
    few refuse."""
    waiting, seen, alike = list[tuple[int, Iterator[Case]]](), 0, Counter[frozenset[str]]()
    while True:
        new = space.learned[seen:]
        seen += len(new)
        for learned in new:
            alike[learned.groups] += 1
            order = alike[learned.groups] + _FEW * learned.faults
            waiting.append((order, _changed(learned, space)))
            yield from _operations(learned.case, space.bases[0])
        if not waiting:
            return
        first = min(waiting, key=lambda item: item[0])
        some = list(islice(first[1], _TOGETHER))
        yield from some
        if len(some) < _TOGETHER:
            waiting.remove(first)


def _changed(learned: Learned, space: Space) -> Iterator[Case]:
    """Yield a request with each place that its rules look at changed to each of its values, then
    to what other places hold, updates between it and others, and lists with one such element."""
    case, groups = learned.case, learned.groups
    about = (*groups, *(f"{name}/" for name in groups))
    facets = [
        facet
        for facet in space.facets
        if not groups or any(group in groups or group.startswith(about) for group in facet.groups)
    ]
    most = max((len(facet.values) for facet in facets), default=0)
    for mixed in Mixed:
        for index in range(most):
            for facet in facets:
                if index < len(facet.values) and mixed in facet.mixed:
                    yield with_values(case, [(facet, facet.tried[index])], space, mixed=mixed)
        if mixed is Mixed.NO:
            held = {text for facet in facets for text in facet.texts_of(case.document)}
            for facet in facets:
                others = filter(facet.takes, sorted(held))
                yield from (
                    with_values(case, [(facet, text)], space) for text in islice(others, _FEW)
                )
            for other in space.learned[:_FEW]:
                yield _updated(case, other.case)
                yield _updated(other.case, case)


def _operated(space: Space, _chance: random.Random) -> Iterator[Case]:
    """Yield updates of changed and unchanged objects, deletions and background scans."""
    some = [*space.bases, *met_bases(space)]
    for base in some:
        yield from _operations(base, base)
        yield from (_updated(base, other) for other in some if other is not base)
    for base in some[:6]:
        for facet in space.facets:
            for value in facet.values[:: max(1, len(facet.values) // 3)]:
                changed = with_values(base, [(facet, value)], space)
                yield from _operations(changed, base)


def _operations(case: Case, before: Case) -> Iterator[Case]:
    yield _updated(case, before)
    yield _updated(before, case)
    yield _updated(case, case)
    yield Case({**_without_old(case), "operation": "DELETE"}, case.origin, case.tries, case.change)
    background = _without_old(case)
    background.pop("userInfo", None)
    yield Case(background, case.origin, case.tries, case.change)


def _without_old(case: Case) -> Body:
    return {key: value for key, value in case.document.items() if key != "oldObject"}


def _updated(case: Case, before: Case) -> Case:
    old = _renamed(before.document["object"], case.document["object"])
    document = {**case.document, "operation": "UPDATE", "oldObject": old}
    return Case(document, case.origin, case.tries, case.change)


def _renamed(body: Body, after: Body) -> Body:
    """Return an object under the name that it has after an update, which cannot change it."""
    metadata, changed = mapping_at(body, "metadata"), mapping_at(after, "metadata")
    if metadata is not body.get("metadata") or changed is not after.get("metadata"):
        return body
    kept = {key: value for key, value in metadata.items() if key not in IDENTITY}
    named = {key: value for key, value in changed.items() if key in IDENTITY}
    return {**body, "metadata": {**named, **kept}}


def _pairs(space: Space, chance: random.Random) -> Iterator[Case]:
    """Yield every pair of values of two places of one rule, in an order by chance."""
    bases = [*met_bases(space), *space.bases[:1]]
    together = [
        (facet, other)
        for index, facet in enumerate(space.facets)
        for other in space.facets[index + 1 :]
        if facet.groups & other.groups
    ]
    chance.shuffle(together)
    for facet, other in together[:400]:
        pairs = [(value, beside) for value in facet.values for beside in other.values]
        chance.shuffle(pairs)
        for value, beside in pairs[:24]:
            base = chance.choice(bases)
            mixed = _mixed(chance)
            yield with_values(base, [(facet, value), (other, beside)], space, mixed=mixed)


def _by_chance(space: Space, chance: random.Random) -> Iterator[Case]:
    bases, count, futile = [*space.bases, *met_bases(space)], len(space.learned), 0
    while space.facets and futile < _FUTILE:
        learned = [row.case for row in space.learned] if chance.random() < 0.5 else []
        case = chance.choice(learned or bases)
        for _ in range(chance.randint(1, _CHANGES)):
            facet = chance.choice(space.facets)
            value = chance.choice(facet.values)
            case = with_values(case, [(facet, value)], space, mixed=_mixed(chance))
        if chance.random() < 0.2:
            yield from _operations(case, chance.choice(bases))
        yield case
        futile = futile + 1 if len(space.learned) == count else 0
        count = len(space.learned)


_STAGES: Final = (
    {_given: 1},
    {_meeting: 1},
    {_single: 3, _decided: 6, _operated: 1, _pairs: 1},
    {_by_chance: 1},
)
"""The stages of a proof, one after the other; of those that stand together so many requests come in
turns."""

_ENDLESS: Final = (_by_chance,)


def _mixed(chance: random.Random) -> Mixed:
    return Mixed.EVERY if chance.random() < 0.3 else Mixed.NO


def _groups(space: Space) -> list[str]:
    return sorted({group for facet in space.facets for group in facet.groups})


def met_bases(space: Space) -> list[Case]:
    """Return an object that meets all rules in every place, and one for each rule alone.

    What a change of one place does is seen of the first: elsewhere another rule fails anyway.
    """
    groups = _groups(space)
    chosen = [frozenset(groups), *(frozenset((group,)) for group in groups[:6])]
    cases, contents = dict[Hashable, Case](), space.contents
    for some in chosen:
        facets = [one for one in space.facets if one.met and some & one.groups]
        if facets:
            case = space.bases[0]
            # What is in an object is set after the object, which may be absent to meet a rule.
            for facet in sorted(facets, key=lambda met_facet: len(met_facet.path)):
                case = _met(case, facet, space)
            cases.setdefault(contents.of(case.document), case)
    return list(cases.values())


def _met(base: Case, facet: Facet, space: Space) -> Case:
    """Return a request in which a place is met by a value that an API server stores."""
    tried = [with_values(base, [(facet, value)], space) for value in facet.values[: facet.met]]
    return next((case for case in tried if not refusal(case.document, space.contents)), tried[0])


def _missed(facet: Facet) -> Json:
    return facet.values[facet.met] if facet.met < len(facet.values) else facet.values[-1]


def with_values(
    base: Case,
    changes: Iterable[tuple[Facet, Json]],
    space: Space,
    *,
    mixed: Mixed = Mixed.NO,
) -> Case:
    """Return a request with places changed."""
    document, contents = base.document, space.contents
    root = schema.root_type(space.kind)

    def make(path: Path) -> Json:
        if path[0] == CLUSTER:
            there = document.get(CLUSTER, {}).get(path[1])
            return there[0] if there else schema.least_object(kind_of_key(str(path[1])))
        if path[0] not in ("object", "oldObject", IMAGE):
            return "x"
        at = schema.normalized(schema.IMAGE_TYPE if path[0] == IMAGE else root, path[1:])
        if at is None or not at[1].startswith((schema.LIST, schema.MAP)):
            return {}
        return schema.least(at[1][2:], str(path[-1]))

    tries, change = list(base.tries), base.change
    for facet, value in changes:
        path = facet.path
        mixed = mixed if mixed in facet.mixed else Mixed.NO
        tries.append((path, facet.state_of(value, mixed=mixed)))
        change = path, contents.of(value), mixed
        if path[0] == "oldObject" and not document.get("oldObject"):
            is_deleted = document.get("operation") == "DELETE"
            operation = "DELETE" if is_deleted else "UPDATE"
            document = {**document, "operation": operation, "oldObject": document["object"]}
        if path == ("operation",) and value is ABSENT:
            continue
        if path == ("operation",) and value == "UPDATE" and not document.get("oldObject"):
            document = {**document, "oldObject": document["object"]}
        before, changes_made = document, contents.changed_of(document)
        if (changed := changes_made.get(change)) is None:
            excluded = schema.rivals(root, path)
            changed = with_value(document, path, value, make, excluded, mixed=mixed)
            changes_made[change] = changed
        document = changed
        if CLUSTER in document and path[:2] == ("object", "metadata"):
            homes = home_of(before["object"]), home_of(document["object"])
            document = {**document, CLUSTER: moved(document[CLUSTER], *homes)}
    if document.get("operation") == "DELETE" and "oldObject" in document:
        # The object of a deletion is the old one.
        document = {**document, "object": document["oldObject"]}
    if document.get("operation") != "UPDATE" and "oldObject" in document:
        document = {key: value for key, value in document.items() if key != "oldObject"}
    return Case(document, base.origin, tuple(tries), change)
