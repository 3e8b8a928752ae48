"""Fields of an object as a patch meets them: read as a place, merged by both generations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_MAP, Place
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.jmespath.terms import expression_of
from chartkit.addons.migrate.matching.scope import Scope
from chartkit.addons.migrate.texts import term_of
from chartkit.engine.cel.syntax import Expr, tree
from chartkit.engine.cel.syntax.tree import is_field_name
from chartkit.engine.cel_policies.patches import apply_values
from chartkit.engine.cel_policies.patches.apply_values import MapSort, Scalar, Sort
from chartkit.engine.cluster_policy.mutate.workspace import Schema, schema_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_own_group
from chartkit.model import Body, Json

_OBJECT: Final = "Object"
_NO_KIND: Final = GroupVersionKind("", "", "")
_TYPES: Final = {
    Scalar.STRING: (str,),
    Scalar.NUMBER: (int, float),
    Scalar.BOOLEAN: (bool,),
    Scalar.ANY: (str, int, float, bool),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the objects of one kind or several.

    place: where it is read; type_name: its name as a type, `Object.spec.containers`, empty within
    a map; applied: its places in the schemas of server-side apply; merged: its schemas in those of
    strategic merge.
    """

    place: Place
    type_name: str
    applied: tuple[apply_values.Place, ...]
    merged: tuple[Schema | None, ...]

    def child(self, key: str) -> Field:
        """Return a field of the object here; raises `NotConvertible`."""
        place = self.place.taken_for(ANY_MAP)
        below = [sort.place(key) for sort in self._maps()]
        if None in below:
            several = (
                "the schemas of all kinds and versions that it matches: name those that have it"
            )
            where = several if len(below) > 1 else "its kind's schema"
            raise NotConvertible(f"the field {place.child(key).path} is not in {where}")
        return Field(
            place.child(key),
            "" if self.is_map else f"{self.type_name}.{key}",
            tuple(below),
            tuple(schema and schema.field(key) for schema in self.merged),
        )

    def entry(self, key: Expr) -> Field:
        """Return an entry of the map here by a key that is computed."""
        # Every key of a map has the same schema.
        return replace(self.child("*"), place=self.place.taken_for(ANY_MAP).entry(key))

    def element(self, variable: str) -> Field:
        """Return the elements of the list here, by a loop's variable."""
        lists = [sort.list for sort in self._sorts()]
        return replace(
            self,
            place=self.place.element(variable),
            applied=tuple(list_sort.elements for list_sort in lists if list_sort is not None),
            merged=tuple(schema and schema.elements() for schema in self.merged),
        )

    @property
    def is_map(self) -> bool:
        """Report whether it is a map, or within one: its keys are no fields of a type."""
        if not self.type_name or not self.place.type.startswith("{}"):
            return not self.type_name
        return all(not sort.fields and sort.others is not None for sort in self._maps())

    @property
    def is_whole_object(self) -> bool:
        """Report whether a server-side apply takes the object or map here as a whole."""
        return any(sort.map is not None and sort.map.atomic for sort in self._sorts())

    @property
    def is_whole_list(self) -> bool:
        """Report whether a server-side apply takes the list here as a whole."""
        return any(sort.list is not None and sort.list.keys is None for sort in self._sorts())

    def has_only(self, keys: Iterable[str]) -> bool:
        """Report whether an object here has no fields but some."""
        return all(sort.others is None and sort.fields.keys() <= set(keys) for sort in self._maps())

    def scalars_but(self, keys: Collection[str]) -> list[str]:
        """Return the fields of an object here but some; raises `NotConvertible` where one of them
        may hold more than a scalar."""
        fields = {key: None for sort in self._maps() for key in sort.fields if key not in keys}
        is_open = any(sort.others is not None for sort in self._maps())
        if is_open or not all(sort.scalar for key in fields for sort in self.child(key)._sorts()):
            raise NotConvertible(f"server-side apply takes {self.place.path} as a whole")
        return list(fields)

    @property
    def keys(self) -> tuple[str, ...] | None:
        """Return the keys by which both merges tell the elements of the list here apart, None
        where both replace it; raises `NotConvertible` where they differ."""
        keys = {schema.keys if schema else None for schema in self.merged}
        keys |= {sort.list.keys if sort.list else None for sort in self._sorts()}
        if len(keys) > 1:
            raise NotConvertible(f"the list {self.place.path} is merged in another way")
        return keys.pop()

    def takes(self, value: Json) -> bool:
        """Report whether a constant is of the field's type."""
        return all(
            sort.scalar is not None
            and isinstance(value, _TYPES[sort.scalar])
            and (sort.scalar is not Scalar.NUMBER or not isinstance(value, bool))
            for sort in self._sorts()
        )

    def _sorts(self) -> list[Sort]:
        return [apply_values.resolve(place) for place in self.applied]

    def _maps(self) -> list[MapSort]:
        maps = [sort.map for sort in self._sorts() if sort.map is not None]
        if len(maps) < len(self.applied):
            raise NotConvertible(f"the patch has an object, and {self.place.path} is not an object")
        return maps


def object_field(scope: Scope, place: Place, patch: Json) -> Field:
    """Return the whole object of a scope, for a patch; raises `NotConvertible` where it writes what
    the kinds merge apart."""
    kinds = scope.kinds or (_NO_KIND,)
    metadata = patch.get("metadata") if isinstance(patch, dict) and len(patch) == 1 else None
    # All kinds merge labels and annotations alike.
    is_alike = isinstance(metadata, dict) and metadata.keys() <= {"labels", "annotations"}
    if not scope.kinds and _names_known_groups(scope) and not is_alike:
        raise NotConvertible("the kinds are not known, and some may be merged by keys", "match")
    versions = [f"{kind.group}/{kind.version}" if kind.group else kind.version for kind in kinds]
    named = list(zip(versions, [kind.kind for kind in kinds], strict=True))
    return Field(
        place,
        _OBJECT,
        tuple(apply_values.place_of_kind(*kind) for kind in named),
        tuple(schema_of_kind(*kind) for kind in named),
    )


def _names_known_groups(scope: Scope) -> bool:
    """Report whether constraints may speak of Kubernetes' own kinds."""
    rules = scope.constraints["resourceRules"]
    if any("*" in rule["resources"] for rule in rules):
        return True
    groups = {group for rule in rules for group in rule["apiGroups"]} - {"*"}
    return any(map(is_own_group, groups))


_DYNAMIC: Final = "dyn"
_REQUEST: Final = "request"


def object_type(path: str) -> str:
    """Return the name of the type of an object at a path, `spec.containers[].env`."""
    return ".".join(("Object", *filter(None, path.replace("[]", "").split("."))))


def literal_value(value: Json, place: Place, names: Names, type_name: str) -> Expr:
    """Return a value that is written at a place; raises `NotConvertible`.

    type_name: of the object there, empty within a map.
    """
    if isinstance(value, list):
        inside = place.element("element")
        elements = [literal_value(item, inside, names, type_name) for item in value]
        is_mixed = len(set(map(_kind, elements))) > 1
        return cel.list_of(map(_dynamic, elements) if is_mixed else elements)
    if not isinstance(value, dict):
        return constant(value, names)
    if any("{{" in key for key in value):
        raise NotConvertible("a variable in a key of a patch")
    if place.type.startswith("{}") or not all(map(is_field_name, value)):
        type_name = ""
    fields = {
        key: literal_value(item, place.child(key), names, type_name and f"{type_name}.{key}")
        for key, item in value.items()
    }
    return made(type_name, {key: (item, False) for key, item in fields.items()})


def constant(value: Json, names: Names) -> Expr:
    """Return a scalar, its variables computed; raises `NotConvertible`."""
    if isinstance(value, str) and "$(" in value:
        raise NotConvertible("a text with a reference, $()")
    return expression_of(term_of(value, names))


def made(type_name: str, members: Mapping[str, tuple[Expr, bool]]) -> Expr:
    """Return an object of a type, without one a map; members: values, and whether optional."""
    if type_name:
        return tree.StructLiteral(
            type_name, tuple(tree.FieldEntry(key, *member) for key, member in members.items())
        )
    is_mixed = (
        len({_kind(_inner(each) if optional else each) for each, optional in members.values()}) > 1
    )
    entries = []
    for key, (value, is_optional) in members.items():
        if is_mixed:
            value = _dynamic_within(value) if is_optional else _dynamic(value)
        entries.append(tree.MapEntry(cel.literal(key), value, is_optional))
    return tree.MapLiteral(tuple(entries))


def _dynamic(value: Expr) -> Expr:
    return value if _kind(value) == _DYNAMIC else cel.call(_DYNAMIC, value)


def _inner(optional: Expr) -> Expr:
    """Return the value of an optional where it is written."""
    match optional:
        case tree.Conditional(_, then, _):
            return _inner(then)
        case tree.Call("of" | "ofNonZeroValue", _, (value,)):
            return value
    return optional


def _dynamic_within(optional: Expr) -> Expr:
    """Return an optional with a value of no type: of a `dyn` as a whole, Kyverno's compiler breaks
    off."""
    value = _inner(optional)
    return tree.replaced(optional, value, _dynamic(value)) if value != optional else optional


def _kind(value: Expr) -> str:
    """Return the type of an expression as far as a map's members must agree in it."""
    match value:
        case tree.Literal():
            return type(value.value).__name__
        case tree.Select() | tree.Index() | tree.Call("orValue"):
            # Of a request, whose type is known, rules name texts alone.
            return str.__name__ if _root(value) == _REQUEST else _DYNAMIC
        case tree.StructLiteral():
            return value.name
        case tree.MapLiteral():
            return f"map of {'|'.join(sorted({_kind(entry.value) for entry in value.entries}))}"
        case tree.ListLiteral():
            return f"list of {'|'.join(sorted({_kind(element) for element in value.elements}))}"
        case _:
            return f"computed {id(value)}"


def _root(value: Expr) -> str:
    """Return the variable that an expression reads a field of."""
    while isinstance(value, tree.Select | tree.Index | tree.Call):
        parent = value.target if isinstance(value, tree.Call) else value.operand
        if parent is None:
            return ""
        value = parent
    return value.name if isinstance(value, tree.Ident) else ""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation.

    is_json_patch: whether its expression gives operations, and no apply configuration; conditions:
    what must hold for it; replaces: whether it replaces what server-side apply calls atomic.
    """

    expression: Expr
    is_json_patch: bool = False
    conditions: tuple[Expr, ...] = ()
    replaces: bool = False

    @property
    def body(self) -> Body:
        """Return the mutation as the policy holds it, with its expression as a tree."""
        if self.is_json_patch:
            return {"patchType": "JSONPatch", "jsonPatch": {"expression": self.expression}}
        applied = {"expression": self.expression}
        return {"patchType": "ApplyConfiguration", "applyConfiguration": applied}
