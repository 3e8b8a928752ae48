"""Fields of an object as a patch meets them: read as a place, merged by both generations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import ANY_MAP, Place
from chartkit.addons.migrate.matching.scope import Scope
from chartkit.engine.cel_policies.patches import apply_values
from chartkit.engine.cel_policies.patches.apply_values import MapSort, Scalar, Sort
from chartkit.engine.cluster_policy.mutate.schema import Schema, schema_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind
from chartkit.model import Json

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
            raise NotConvertible(f"the field {place.child(key).path} is in no schema")
        return Field(
            place.child(key),
            "" if self.is_map else f"{self.type_name}.{key}",
            tuple(below),
            tuple(schema and schema.field(key) for schema in self.merged),
        )

    def element(self, variable: str) -> Field:
        """Return the elements of the list here, by a loop's variable."""
        lists = [sort.list for sort in self._sorts()]
        return replace(
            self,
            place=self.place.element(variable),
            applied=tuple(each.elements for each in lists if each is not None),
            merged=tuple(schema and schema.elements() for schema in self.merged),
        )

    @property
    def is_map(self) -> bool:
        """Return whether it is a map, or within one: its keys are no fields of a type."""
        return not self.type_name or all(
            not sort.fields and sort.others is not None and self.place.type.startswith("{}")
            for sort in self._maps()
        )

    @property
    def is_whole_object(self) -> bool:
        """Return whether a server-side apply takes the object or map here as a whole."""
        return any(sort.map is not None and sort.map.atomic for sort in self._sorts())

    @property
    def is_whole_list(self) -> bool:
        """Return whether a server-side apply takes the list here as a whole."""
        return any(sort.list is not None and sort.list.keys is None for sort in self._sorts())

    def has_only(self, keys: Iterable[str]) -> bool:
        """Return whether an object here has no fields but some."""
        return all(sort.others is None and sort.fields.keys() <= set(keys) for sort in self._maps())

    @property
    def keys(self) -> tuple[str, ...] | None:
        """Return the keys by which both merges tell the elements of the list here apart, None
        where both replace it; raises `NotConvertible` where they differ."""
        found = {schema.keys if schema else None for schema in self.merged}
        found |= {sort.list.keys if sort.list else None for sort in self._sorts()}
        if len(found) > 1:
            raise NotConvertible(f"the list {self.place.path} is merged in another way")
        return found.pop()

    def takes(self, value: Json) -> bool:
        """Return whether a constant is of the field's type."""
        return all(
            sort.scalar is not None
            and isinstance(value, _TYPES[sort.scalar])
            and (sort.scalar is not Scalar.NUMBER or not isinstance(value, bool))
            for sort in self._sorts()
        )

    def _sorts(self) -> list[Sort]:
        return [apply_values.resolve(each) for each in self.applied]

    def _maps(self) -> list[MapSort]:
        maps = [sort.map for sort in self._sorts() if sort.map is not None]
        if len(maps) < len(self.applied):
            raise NotConvertible(f"the patch has an object where {self.place.path} is none")
        return maps


def object_field(scope: Scope, place: Place) -> Field:
    """Return the whole object of a scope; raises `NotConvertible` where its kinds merge apart."""
    kinds = scope.kinds or (_NO_KIND,)
    if not scope.kinds and _names_known_groups(scope):
        raise NotConvertible("the kinds are not known, and some may be merged by keys", "match")
    versions = [f"{each.group}/{each.version}" if each.group else each.version for each in kinds]
    named = list(zip(versions, [each.kind for each in kinds], strict=True))
    return Field(
        place,
        _OBJECT,
        tuple(apply_values.place_of_kind(*each) for each in named),
        tuple(schema_of_kind(*each) for each in named),
    )


def _names_known_groups(scope: Scope) -> bool:
    """Return whether constraints may speak of Kubernetes' own kinds."""
    rules = scope.constraints["resourceRules"]
    if any("*" in rule["resources"] for rule in rules):
        return True
    groups = {group for rule in rules for group in rule["apiGroups"]} - {"*"}
    return any("." not in group or group.endswith(".k8s.io") for group in groups)
