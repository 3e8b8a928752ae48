"""`patchStrategicMerge` as JSON patches, where no apply configuration gives the same object.

Server-side apply removes no field, and takes some maps as a whole, such as a node selector; keys of
an apply configuration are not computed. Operations do all of this, but cannot change the order of a
list: elements are patched where they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_MAP, TEXT, Place
from chartkit.addons.migrate.expressions.presence import NOTHING, Known
from chartkit.addons.migrate.expressions.verdict import conjunction
from chartkit.addons.migrate.jmespath import Names, Value
from chartkit.addons.migrate.mutate.fields import Field, Mutation, literal_value, object_type
from chartkit.addons.migrate.mutate.json_patch import Operations
from chartkit.addons.migrate.mutate.loops import Loop, Path, Step
from chartkit.addons.migrate.mutate.merge import StrategicMerge, every_element
from chartkit.addons.migrate.mutate.patches import (
    added,
    has_additions,
    only_adds,
    reduced,
    require_object,
    without_name,
)
from chartkit.addons.migrate.texts import term_of, text_expression
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.mutate.anchors import (
    CONDITION,
    CONDITIONS,
    HANDLED,
    has_anchors,
)
from chartkit.engine.cluster_policy.pattern.build import Anchor, parse_anchor
from chartkit.model import Body, Json


def merged(
    patch: Body,
    whole: Field,
    names: Names,
    loops: Mapping[str, Loop] = MappingProxyType({}),
    empty: Known = NOTHING,
) -> list[Mutation]:
    """Return the mutations of a patch: an apply configuration where there is one.

    loops: those of a foreach whose elements it patches, by the path of their lists; empty: the
    lists that are empty where it is applied. Raises `NotConvertible`.
    """
    try:
        merge = StrategicMerge(names, loops=loops, empty=empty)
        made = merge.configuration(patch, whole)
    except NotConvertible as reason:
        with suppress(NotConvertible):
            return _overlaid(patch, whole, _Overlay(whole.place, names, loops))
        raise reason from None
    return [Mutation(made, conditions=tuple(merge.conditions), replaces=merge.replaces)]


def merged_for_each(patch: Body, whole: Field, loop: Loop) -> list[Mutation]:
    """Return the mutations of a patch of something else than the elements of a loop, done for each
    of these; raises `NotConvertible`."""
    return _overlaid(patch, whole, _Overlay(whole.place, loop.names, {}, loop))


def _overlaid(patch: Body, whole: Field, overlay: _Overlay) -> list[Mutation]:
    overlay.write(patch, whole)
    return overlay.mutations()


class _Overlay:
    """The operations of a patch, and of its parts about elements of lists."""

    def __init__(
        self,
        whole: Place,
        names: Names,
        loops: Mapping[str, Loop],
        around: Loop | None = None,
    ) -> None:
        self._whole = whole
        self._loops = loops
        self._names = names
        self._around = around
        self._merge = StrategicMerge(self._names)
        self._operations = Operations(whole, self._names, () if around is None else (around,))
        self._elements: list[Mutation] = []
        self._is_written = False

    def mutations(self) -> list[Mutation]:
        """Return the mutations, the conditions of anchors with each."""
        conditions = tuple(self._merge.conditions)
        own = [Mutation(self._operations.expression(), True)] if self._is_written else []
        if conditions and self._around is not None:
            raise NotConvertible("anchors that not every element meets")
        return [
            Mutation(part.expression, True, (*part.conditions, *conditions))
            for part in (*own, *self._elements)
        ]

    def write(self, patch: Json, at: Field, path: Path = ()) -> None:
        """Write the members of an object of the patch."""
        for written, value in require_object(patch).items():
            anchor = parse_anchor(written)
            if anchor is not None and anchor.kind in CONDITIONS:
                test = self._merge.met(anchor, value, at)
                if test != cel.TRUE:
                    self._merge.conditions.append(test)
                continue
            name = written if anchor is None else anchor.key
            key: Step = text_expression(name, self._names) if "{{" in name else name
            self._member(value, _child(at, key), (*path, key), anchor)

    def _member(self, value: Json, at: Field, path: Path, anchor: Anchor | None) -> None:
        if value is None:
            # What is above stays as an empty object.
            self._operations.target(path)
            self._operations.remove(path)
        elif anchor is not None:
            self._put(reduced(added(value)), at, path, if_absent=True)
        elif isinstance(value, dict):
            self.write(value, at, path)
            return
        elif isinstance(value, list) and (at.keys is not None or has_anchors(value, HANDLED)):
            self._list(value, at)
            return
        else:
            self._put(value, at, path, if_absent=False)
        self._is_written = True

    def _put(self, value: Json, at: Field, path: Path, *, if_absent: bool) -> None:
        if not if_absent and isinstance(value, str):
            term = term_of(value, self._names)
            if isinstance(term, Value) and term.place.is_optional and not term.strict:
                # Null removes what is there.
                if term.place.type != TEXT or not at.takes(""):
                    reason = f"{at.place.path} is set to a variable that might not be a string"
                    raise NotConvertible(reason)
                given, present = term.place.is_present(), at.place.is_present()
                self._operations.target(path)
                self._operations.guarded("add", path, given, term.place.settled().value)
                gone = conjunction(cel.negate(given), present)
                self._operations.guarded("remove", path, gone)
                return
        if isinstance(value, dict | list):
            type_name = object_type(at.place.path) if isinstance(value, dict) else ""
            new = literal_value(value, at.place, self._names, "" if at.is_map else type_name)
        else:
            new, is_optional = self._merge.scalar(value, at)
            if is_optional:
                raise NotConvertible(f"{at.place.path} is set to what may be absent")
        self._operations.put(path, new, if_absent=if_absent)

    def _list(self, patch: list[Json], at: Field) -> None:
        """Write the one element of a list of the patch for every element of the object's list."""
        is_single = len(patch) == 1 and isinstance(patch[0], dict) and at.keys is not None
        if not is_single or self._around is not None:
            raise NotConvertible(f"the list {at.place.path} is merged by its elements' keys")
        (element,) = patch
        loop = self._loops.get(at.place.path)
        if loop is not None:
            element = without_name(element)
        elif has_additions(element) or not has_anchors(element, CONDITION):
            raise NotConvertible(f"the list {at.place.path} is merged by its elements' keys")
        else:
            loop = every_element(at, self._names)
        elements = _Overlay(self._whole, loop.names, {}, loop)
        steps: Path = (*at.place.path.split("."), loop.counter)
        elements.write(element, at.element(loop.generator.variable), steps)
        if loop.generator.where != cel.TRUE or only_adds(element):
            raise NotConvertible("elements that come first once they are patched")
        self._elements += elements.mutations()


def _child(at: Field, key: Step) -> Field:
    """Return a member of the object here, its key perhaps computed."""
    if isinstance(key, str):
        return at.child(key)
    place = at.place.taken_for(ANY_MAP)
    if not isinstance(key, Expr) or not place.type.startswith("{}"):
        raise NotConvertible("a variable in a key of a patch")
    return at.entry(key)
