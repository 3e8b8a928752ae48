"""The facts that filters ask for, as expressions: of a request, or of an object alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import Place, object_of
from chartkit.addons.migrate.expressions.presence import fits, fits_any
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.match import compile_kinds
from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_cluster_scoped
from chartkit.schemas.kind_selectors import parse_kind_selector

NAMESPACE: Final = "Namespace"
_ANY: Final = "*"
_KIND: Final = ("group", "version", "kind")


_OBJECT: Final = cel.ident("object")


def judged_object(operations: Collection[str]) -> Expr:
    """Return the object that requests of several operations are about: of a deletion, the one that
    goes, for there is no other."""
    if "DELETE" not in operations:
        return _OBJECT
    if set(operations) == {"DELETE"}:
        return cel.ident("oldObject")
    deleted = cel.equal(cel.path("request", "operation"), "DELETE")
    return cel.conditional(deleted, cel.ident("oldObject"), _OBJECT)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a request.

    named: the kind selectors of the match constraints, which need no test; known: Kubernetes' own
    kinds that a request may be about, empty where another may come; judged: the object that it is
    about.
    """

    named: frozenset[str] = frozenset()
    known: tuple[GroupVersionKind, ...] = ()
    judged: Expr = _OBJECT

    @property
    def has_namespaces(self) -> bool:
        """Return whether an object may be a Namespace."""
        return not self.known or any(each.kind == NAMESPACE for each in self.known)

    @property
    def namespaced(self) -> bool:
        """Return whether every object is in a namespace."""
        return bool(self.known) and not any(map(is_cluster_scoped, self.known))

    @property
    def metadata(self) -> Place:
        """Return the place of the object's metadata."""
        return replace(object_of(), root=self.judged).child("metadata")

    @property
    def kind(self) -> Expr:
        """Return the kind of the object."""
        return cel.path("request", "kind", "kind")

    @property
    def own_namespace(self) -> Expr:
        """Return the namespace that the object is in; empty where it is in none."""
        if self.namespaced:
            return cel.path("request", "namespace")
        return cel.or_value(cel.optional_field("request", "namespace"), "")

    @property
    def own_name(self) -> Expr:
        """Return the name of an object that has one."""
        return cel.path("request", "name")

    @property
    def namespace(self) -> Expr:
        """Return the namespace's name, of a Namespace its own; empty where there is none."""
        if not self.has_namespaces:
            return self.own_namespace
        is_namespace = cel.equal(self.kind, NAMESPACE)
        return cel.conditional(is_namespace, self.own_name, self.own_namespace)

    @property
    def name(self) -> Expr:
        """Return the object's name, or what its name is made from."""
        generated = self.metadata.child("generateName").or_value("")
        return self.metadata.child("name").or_value(generated)

    def entries(self, field: str) -> Place:
        """Return the place of the labels or annotations."""
        return self.metadata.child(field)

    def is_kind(self, kinds: Sequence[str]) -> Expr:
        """Return whether the object is of one of several kinds."""
        fits_kind = compile_kinds(tuple(kinds))
        if self.named and self.named <= set(kinds):
            return cel.TRUE
        if not self.named and self.known and all(fits_kind(each, "") for each in self.known):
            return cel.TRUE
        named = [parse_kind_selector(kind) for kind in kinds]
        tests: list[Expr] = []
        bare = [each for each in named if each[:2] == (_ANY, _ANY) and not each.subresource]
        if bare:
            tests.append(fits_any(self.kind, [each.kind for each in bare]))
        tests += [self._is_selected(*each) for each in named if each not in bare]
        return cel.any_of(tests)

    def _is_selected(self, group: str, version: str, kind: str, subresource: str) -> Expr:
        parts = zip(_KIND, (group, version, kind), strict=True)
        tests = [fits(cel.path("request", "kind", key), text) for key, text in parts if text != "*"]
        if subresource:
            sub = cel.or_value(cel.optional_field("request", "subResource"), "")
            tests.append(fits(sub, subresource))
        return cel.all_of(tests)


@dataclass(frozen=True, slots=True)
class ObjectFacts(Facts):
    """The facts of an object that nobody asks for: there is no request."""

    @property
    def kind(self) -> Expr:
        """Return the kind of the object."""
        return cel.path("object", "kind")

    @property
    def own_namespace(self) -> Expr:
        """Return the namespace that the object is in; empty where it is in none."""
        if self.namespaced:
            return cel.path("object", "metadata", "namespace")
        return self.metadata.child("namespace").or_value("")

    @property
    def own_name(self) -> Expr:
        """Return the name of the object."""
        return cel.path("object", "metadata", "name")

    @property
    def name(self) -> Expr:
        """Return the object's name, which is there once it is."""
        return self.own_name

    def _is_selected(self, group: str, version: str, kind: str, subresource: str) -> Expr:
        if subresource:
            raise NotConvertible("a subresource, which is no object of its own", "match")
        is_one = compile_kinds(("/".join((group, version, kind)),))
        fitting = {each.kind for each in self.known if is_one(each, "")}
        if fitting.isdisjoint(each.kind for each in self.known if not is_one(each, "")) and fitting:
            return fits_any(self.kind, sorted(fitting))
        return cel.all_of((*self._is_served(group, version), fits(self.kind, kind)))

    @staticmethod
    def _is_served(group: str, version: str) -> list[Expr]:
        """Return the tests of an API version's two parts."""
        served = cel.path("object", "apiVersion")
        if _ANY not in group + version:
            return [cel.equal(served, f"{group}/{version}" if group else version)]
        if group not in ("", _ANY) and version == _ANY:
            return [cel.method(served, "startsWith", f"{group}/")]
        if group == _ANY and _ANY not in version:
            core = cel.equal(served, version)
            return [cel.any_of((core, cel.method(served, "endsWith", f"/{version}")))]
        raise NotConvertible("kinds of a group with wildcards next to other kinds", "match")
