"""`patchStrategicMerge` as an apply configuration, `Object{…}`, that gives the same object.

Lists that are merged by keys name every element, for Kyverno puts those of the patch first. Where
a value replaces one that server-side apply calls atomic, the policy sets `useServerSideApply`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import NUMBERS
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_LIST, INT_OR_TEXT, TEXT, TIME, Place
from chartkit.addons.migrate.expressions.presence import NOTHING, Known, path_of
from chartkit.addons.migrate.expressions.verdict import conjunction, loop_variable
from chartkit.addons.migrate.jmespath import Constant, Generator, Names, Translator, Value
from chartkit.addons.migrate.jmespath.terms import expression_of
from chartkit.addons.migrate.mutate.fields import Field, constant, literal_value, made
from chartkit.addons.migrate.mutate.loops import Loop
from chartkit.addons.migrate.mutate.patches import (
    added,
    anchor_of,
    has_additions,
    lacks_additions,
    only_adds,
    parts,
    reduced,
    require_object,
    without_name,
)
from chartkit.addons.migrate.texts import term_of
from chartkit.addons.migrate.validate.pattern import pattern_verdict
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel.syntax.tree import (
    Binary,
    Call,
    Conditional,
    FieldEntry,
    ListLiteral,
    MapLiteral,
    StructLiteral,
    is_field_name,
    replaced,
)
from chartkit.engine.cluster_policy.mutate.anchors import (
    ADDITION,
    CONDITION,
    CONDITIONS,
    GLOBAL,
    HANDLED,
    has_anchors,
)
from chartkit.engine.cluster_policy.pattern.build import Anchor, AnchorKind
from chartkit.engine.context.variables.syntax import find_variables, is_whole
from chartkit.engine.jmespath.expression import JMESPathError
from chartkit.engine.jmespath.nodes import Kind, Node
from chartkit.engine.jmespath.parser import parse
from chartkit.model import Body, Json

_NAME: Final = ("name",)
_OTHER: Final = "other"
_QUANTITY: Final = "quantity"
_UNIQUE: Final = frozenset(
    (
        *("containers", "initContainers", "ephemeralContainers", "volumes", "volumeMounts"),
        *("volumeDevices", "resourceClaims", "schedulingGates"),
    )
)
"""Lists in which the API server refuses two elements of one key."""
_SCALARS: Final = {str: TEXT, int: "int", float: "double", bool: "bool"}
_OPTIONAL: Final = cel.ident("optional")

Entries = dict[str, tuple[Expr, bool]]
"""The members of an object: values, and whether optional."""


@dataclass(slots=True)
class StrategicMerge:
    """The conversion of one patch.

    conditions: what must hold for the patch to be applied at all; replaces: whether it replaces
    what server-side apply calls atomic; loops: those of a foreach, by the path of their lists;
    patched_loops: the paths of those whose elements it patches; empty: the lists that are empty
    where the patch is applied; first: the variable of a loop, and the element that decides for all
    what `+()` anchors add.
    """

    names: Names
    loops: Mapping[str, Loop] = field(default_factory=dict)
    conditions: list[Expr] = field(default_factory=list)
    replaces: bool = False
    patched_loops: set[str] = field(default_factory=set)
    empty: Known = NOTHING
    first: tuple[str, Expr] | None = None

    def configuration(self, patch: Body, whole: Field) -> Expr:
        """Return the apply configuration of a patch; raises `NotConvertible`."""
        configuration = self._object(patch, whole)
        if configuration is None:
            raise NotConvertible("the patch changes nothing", "mutate/patchStrategicMerge")
        if _writes_nested(configuration):
            raise NotConvertible("Kyverno takes no list or map that a policy writes inside another")
        return configuration

    def _write(self, key: str, patch: Json, at: Field, entries: Entries) -> None:
        """Add the value that a part of a patch gives, if it leaves any."""
        match patch:
            case dict():
                value = self._object(patch, at)
                is_optional = False
            case list():
                value = self._list(patch, at)
                loop = self.loops.get(at.place.path)
                in_loop = loop is not None and not loop.is_strict
                may_lack = has_anchors(patch, HANDLED) or in_loop
                is_optional = may_lack and at.place.is_optional
                if value is not None and is_optional:
                    # An empty list would be written as null.
                    value = cel.method(_OPTIONAL, "ofNonZeroValue", value)
            case _:
                value, is_optional = self.scalar(patch, at)
        if value is not None:
            entries[key] = value, is_optional

    def scalar(self, value: Json, at: Field) -> tuple[Expr, bool]:
        """Return a scalar that is written, and whether it is an optional."""
        if value is None:
            raise NotConvertible(f"the patch removes {at.place.path}")
        if isinstance(value, str) and "{{" in value:
            if not at.takes(""):
                return self._of_type(value, at)
            return self._first_given(value, at) or (self._computed(value, at), False)
        if not at.takes(value):
            raise NotConvertible(f"{at.place.path} does not take {value!r}")
        at.place.taken_for(_SCALARS[type(value)])
        if at.place.type == INT_OR_TEXT and not isinstance(value, str):
            self.names.note(NUMBERS)
        return constant(value, self.names), False

    def _of_type(self, text: str, at: Field) -> tuple[Expr, bool]:
        """Return a variable that gives what a field takes that is not a string, and whether it is
        an optional."""
        term = term_of(text, self.names)
        match term:
            case Constant(value) if at.takes(value):
                return constant(value, self.names), False
            case Value(place, strict) if place.type == at.place.type and not at.is_whole_object:
                is_merged = place.is_list and not at.is_whole_list
                if not is_merged and (strict or not place.is_optional):
                    self.replaces = self.replaces or place.is_list
                    if not place.is_map:
                        return place.value, False
                    # An empty map would be written.
                    return cel.method(_OPTIONAL, "ofNonZeroValue", place.value), True
        raise NotConvertible(f"{at.place.path} takes no string, and a variable might give one")

    def _computed(self, text: str, at: Field) -> Expr:
        term = term_of(text, self.names)
        if isinstance(term, Value):
            term = replace(term, place=term.place.taken_for(TEXT))
        if isinstance(term, Value) and term.place.type not in (TEXT, TIME, _QUANTITY):
            raise NotConvertible(f"{at.place.path} is set to a variable that might not be a string")
        return expression_of(term)

    def _first_given(self, text: str, at: Field) -> tuple[Expr, bool] | None:
        """Return `{{ a || b }}` of fields that may all be absent: nothing is written then.

        Null takes the field away, so the field must be one of them.
        """
        variables = find_variables(text)
        if not is_whole(variables, text):
            return None
        places = _alternatives(variables[0].query, self.names)
        if len(places) < 2 or not all(place.is_optional for place in places):
            return None
        if at.place not in places or any(place.type != _QUANTITY for place in places):
            raise NotConvertible(f"{at.place.path} may be set to null, which removes it")
        first, *others = (place.as_optional for place in places)
        for other in others:
            first = cel.method(first, "or", other)
        return first, True

    def _object(self, patch: Json, at: Field) -> Expr | None:
        patch = require_object(patch)
        entries: Entries = {}
        for written, value in patch.items():
            anchor = anchor_of(written)
            if anchor is None:
                self._write(written, value, at.child(written), entries)
            elif anchor.kind is AnchorKind.ADDITION:
                self._add_if_absent(anchor.key, value, at.child(anchor.key), entries)
            else:
                self.conditions.append(self.met(anchor, value, at))
        if not entries:
            return None
        if at.is_whole_object:
            self.replaces = True
            for kept in at.scalars_but(entries):
                place = at.child(kept).place
                entries[kept] = (
                    (place.as_optional, True) if place.is_optional else (place.value, False)
                )
        is_typed = not at.is_map and all(is_field_name(key) for key in entries)
        return made(at.type_name if is_typed else "", entries)

    def _add_if_absent(self, key: str, value: Json, at: Field, entries: Entries) -> None:
        if has_anchors(value, CONDITIONS):
            raise NotConvertible(f"a condition under the anchor +({key})")
        if isinstance(value, dict | list):
            whole = reduced(added(value))
            if whole is None:
                return
            self.replaces = self.replaces or _replaces(whole, at)
            if self.first is not None and isinstance(whole, list) and at.keys is not None:
                # Another element may have some already, where the one that decides has none.
                new = self._joined(whole, at)
            else:
                new = literal_value(whole, at.place, self.names, "" if at.is_map else at.type_name)
        else:
            new, is_optional = self.scalar(value, at)
            if is_optional or self.first is None:
                entries[key] = (new, True) if is_optional else (at.place.or_value(new), False)
                return
        condition = self._of_first(cel.negate(at.place.is_present()))
        none = cel.method(_OPTIONAL, "none")
        entries[key] = cel.conditional(condition, cel.method(_OPTIONAL, "of", new), none), True

    def _of_first(self, test: Expr) -> Expr:
        """Return a test of an element as it is made of the one that decides for all."""
        if self.first is None:
            return test
        variable, element = self.first
        return replaced(test, cel.ident(variable), element)

    def met(self, anchor: Anchor, wanted: Json, at: Field) -> Expr:
        """Report whether the condition of an anchor holds of the object here."""
        child = at.place.child(anchor.key)
        if has_anchors(wanted, ADDITION):
            raise NotConvertible(f"an anchor +() within the anchor {anchor}")
        verdict = pattern_verdict(wanted, child.settled(), self.names.taken)
        return conjunction(child.is_present(), verdict.holds)

    def _list(self, patch: list[Json], at: Field) -> Expr | None:
        if has_anchors(patch, HANDLED) or (at.place.path in self.loops and patch):
            if len(patch) != 1 or not isinstance(patch[0], dict):
                raise NotConvertible(
                    "a list with anchors that has several elements, of which Kyverno loses some"
                )
            return self._of_elements(patch[0], at)
        elements = [element for element in map(reduced, patch) if element is not None]
        if len(elements) < len(patch):
            raise NotConvertible("a list of a patch with an empty object")
        at.place.taken_for(ANY_LIST)
        if path_of(at.place.value) in self.empty:
            self.replaces = self.replaces or _replaces(elements, at)
            return literal_value(elements, at.place, self.names, at.type_name)
        if at.keys is None:
            self.replaces = True
            return literal_value(elements, at.place, self.names, at.type_name)
        return self._joined(elements, at)

    def _joined(self, patch: Sequence[Json], at: Field) -> Expr:
        """Return the patch's elements, and behind them the others of the object by their key."""
        keys = at.keys
        if keys == ():
            # The values of the patch, and behind them the others of the object.
            values = cel.list_of([constant(element, self.names) for element in patch])
            variable = loop_variable(at.place, self.names.taken)
            other = cel.negate(cel.contains(values, cel.ident(variable)))
            rest = cel.macro(at.place.or_value([]), "filter", variable, other)
            return cel.compare("+", values, cel.method(rest, "distinct"))
        if keys is None or len(keys) != 1:
            raise NotConvertible(f"the list {at.place.path} is merged by several keys or by values")
        key = keys[0]
        variable = loop_variable(at.place, self.names.taken)
        inside = at.element(variable)
        named = []
        for element in patch:
            if not isinstance(element, dict) or not isinstance(element.get(key), str):
                raise NotConvertible(f"an element of {at.place.path} without {key}")
            named.append(element[key])
        own = inside.place.child(key).value
        texts = [constant(name, self.names) for name in named]
        made = cel.list_of(
            [
                _required(self._object(element, _with_key(at, variable, cel.equal(own, text))))
                for element, text in zip(patch, texts, strict=True)
            ]
        )
        other = (
            cel.not_equal(own, texts[0])
            if len(texts) == 1
            else cel.negate(cel.contains(cel.list_of(texts), own))
        )
        elements = at.place.or_value([])
        present = inside.place.child(key).is_present()
        if not _is_unique(at):
            alone = cel.equal(at.element(_OTHER).place.child(key).or_value(""), own)
            # An apply configuration must not name two elements of one key.
            alone = cel.macro(elements, "exists_one", _OTHER, alone)
            other = conjunction(present, other, alone)
        rest = cel.macro(elements, "filter", variable, other)
        return cel.compare("+", made, _by_key(rest, variable, key, inside))

    def _of_elements(self, patch: Body, at: Field) -> Expr | None:
        """Return the elements of the object that a patch's one element, with anchors, changes."""
        if has_anchors(patch, GLOBAL):
            # Note that an element must meet the global anchors of a patch's element.
            variable = loop_variable(at.place, self.names.taken)
            part = StrategicMerge(self.names.without(variable))
            part._global_anchors(patch, at.element(variable))
            met = conjunction(*part.conditions)
            self.conditions.append(cel.macro(at.place.or_value([]), "exists", variable, met))
            return None
        if at.keys != _NAME or not _is_unique(at):
            raise NotConvertible(f"anchors in {at.place.path}, whose elements may have no names")
        loop = self.loops.get(at.place.path)
        if loop is None:
            loop = every_element(at, self.names)
            part = StrategicMerge(loop.names, first=self._first(patch, at, loop))
        else:
            patch = without_name(patch)
            self.patched_loops.add(loop.path)
            part = StrategicMerge(loop.names)
        variable = loop.generator.variable
        inside = at.element(variable)
        if any(isinstance(value, list) and has_anchors(value, HANDLED) for value in parts(patch)):
            raise NotConvertible("anchors in a list within a list")
        named = FieldEntry("name", cel.path(variable, "name"))
        body = part._object(patch, inside)
        self.replaces = self.replaces or part.replaces
        changed = loop.where(*part.conditions)
        if only_adds(patch):
            # An element that has everything stays in its place.
            changed = changed.where(part._of_first(lacks_additions(patch, inside.place)))
        if not isinstance(body, StructLiteral):
            raise NotConvertible(f"an element of {at.place.path} that changes nothing")
        change = StructLiteral(body.name, (named, *body.fields))
        where = changed.generator.where
        if where == cel.TRUE:
            return changed.mapped(change)
        rest = cel.macro(loop.list, "filter", variable, cel.negate(where))
        return cel.compare("+", changed.mapped(change), _by_key(rest, variable, "name", inside))

    def _first(self, patch: Body, at: Field, loop: Loop) -> tuple[str, Expr] | None:
        """Return the element by which Kyverno decides for all what `+()` anchors add: the first
        one that meets the conditions, or that there is where the anchors stand next to these."""
        if not has_additions(patch):
            return None
        anchors = {key: anchor_of(key) for key in patch}
        nested = [value for key, value in patch.items() if anchors[key] is None]
        adds = [each for each in anchors.values() if each and each.kind is AnchorKind.ADDITION]
        asked = [
            self.met(anchor, patch[key], at.element(loop.generator.variable))
            for key, anchor in anchors.items()
            if anchor is not None and anchor not in adds
        ]
        where = conjunction(*asked)
        if has_anchors(nested, CONDITION) or (
            where != cel.TRUE and adds and has_anchors(nested, ADDITION)
        ):
            raise NotConvertible("anchors +() that one of several elements decides for all")
        variable, elements = loop.generator.variable, loop.list
        if where != cel.TRUE and not adds:
            elements = cel.macro(elements, "filter", variable, where)
        return variable, cel.index(elements, 0)

    def _global_anchors(self, patch: Body, at: Field) -> None:
        for written, value in patch.items():
            anchor = anchor_of(written)
            if anchor is not None and anchor.kind is AnchorKind.GLOBAL:
                self.conditions.append(self.met(anchor, value, at))
            elif anchor is not None or not isinstance(value, dict):
                raise NotConvertible("global anchors with other parts in an element of a list")
            else:
                self._global_anchors(value, at.child(written))


def every_element(at: Field, names: Names) -> Loop:
    """Return a loop over the list here."""
    variable = loop_variable(at.place, names.taken)
    inside = names.without(variable).without("index")
    return Loop(Generator(variable, at.place), at.place.element(variable), inside)


def _with_key(at: Field, variable: str, test: Expr) -> Field:
    """Return the element of a list that meets a test, which may not be there."""
    inside = at.element(variable)
    elements = cel.macro(at.place.or_value([]), "filter", variable, test)
    return replace(inside, place=replace(inside.place, root=elements, optional=(0,)))


def _is_unique(at: Field) -> bool:
    """Report whether the API server refuses two elements of one key in the list here."""
    return at.place.path.rpartition(".")[2] in _UNIQUE


def _replaces(value: Json, at: Field) -> bool:
    """Report whether a value holds what server-side apply takes as a whole."""
    if isinstance(value, dict):
        return at.is_whole_object or any(
            _replaces(item, at.child(key)) for key, item in value.items()
        )
    if isinstance(value, list):
        return at.is_whole_list or any(_replaces(item, at.element("element")) for item in value)
    return at.is_whole_object and isinstance(value, str) and "{{" in value


def _writes_nested(value: Expr, *, inside: bool = False) -> bool:
    """Report whether a value holds a list or map that is neither read nor the field of an
    `Object{…}`; inside: whether the value is in a list or map."""
    match value:
        case StructLiteral():
            return any(_writes_nested(entry.value) for entry in value.fields)
        case ListLiteral():
            return inside or any(_writes_nested(part, inside=True) for part in value.elements)
        case MapLiteral():
            return inside or any(
                _writes_nested(entry.value, inside=True) for entry in value.entries
            )
        case Conditional():
            return any(
                _writes_nested(part, inside=inside) for part in (value.then, value.otherwise)
            )
        case Binary("+"):
            return any(_writes_nested(part, inside=inside) for part in (value.left, value.right))
        case Call("map"):
            return _writes_nested(value.args[-1], inside=True)
        case Call("dyn" | "of" | "ofNonZeroValue" | "orValue" | "or"):
            given = (value.target, *value.args)
            return any(part is not None and _writes_nested(part, inside=inside) for part in given)
    return False


def _alternatives(query: str, names: Names) -> list[Place]:
    """Return the places of `a || b`; none where it is something else."""
    try:
        tree = parse(query)
    except JMESPathError:
        return []
    nodes = _operands(tree)
    if len(nodes) < 2:
        return []
    terms = [Translator(names, strict=False).node(node, None) for node in nodes]
    return [term.place for term in terms if isinstance(term, Value)]


def _operands(node: Node) -> list[Node]:
    if node.kind is not Kind.OR_EXPRESSION:
        return [node]
    return [operand for child in node.children for operand in _operands(child)]


def _required(made: Expr | None) -> Expr:
    if made is None:
        raise NotConvertible("an element of a list that changes nothing")
    return made


def _by_key(elements: Expr, variable: str, key: str, inside: Field) -> Expr:
    if inside.is_whole_object and not inside.has_only((key,)):
        raise NotConvertible(f"server-side apply takes {inside.place.path} as a whole")
    named = cel.struct(inside.type_name, {key: inside.place.child(key).value})
    return cel.macro(elements, "map", variable, named)
