"""The names that a rule's expressions see, and what each is in CEL."""

from __future__ import annotations

from dataclasses import replace

from chartkit.engine.cel.syntax import build as cel
from chartkit.migration.conversion import NotConvertible
from chartkit.migration.expressions.place import TEXT, Place
from chartkit.migration.jmespath import Names, Term, Value
from chartkit.migration.matching.facts import judged_object
from chartkit.migration.matching.scope import Scope, operations_of


def names_of(scope: Scope) -> Names:
    """Return the names of a rule that speaks of a scope; context entries come on top."""
    request = cel.ident("request")
    user = cel.path(request, "userInfo")
    old = replace(scope.object, root=cel.ident("oldObject"))
    if not operations_of(scope) <= {"UPDATE", "DELETE"}:
        old = replace(old, whole=False)
    namespace = Place(request, ("namespace",), TEXT)
    operations = operations_of(scope)
    judged = scope.object
    if "DELETE" in operations:
        # Of a deletion, Kyverno calls the object that goes `request.object`.
        if scope.about_pods:
            raise NotConvertible("a rule about the deletion of Pods, extended to controllers")
        judged = replace(judged, root=judged_object(operations))
    objects: dict[tuple[str, ...], Term] = {
        ("request", "object"): Value(judged),
        ("request", "namespace"): Value(namespace.settled() if scope.is_namespaced else namespace),
        ("request", "name"): Value(Place(request, ("name",), TEXT)),
        ("request", "operation"): Value(Place(cel.path(request, "operation"), (), TEXT)),
        ("request", "userInfo", "username"): Value(Place(user, ("username",), TEXT)),
        ("request", "userInfo", "groups"): Value(Place(user, ("groups",), "[]string")),
        ("request", "kind", "kind"): Value(Place(cel.path(request, "kind", "kind"), (), TEXT)),
        ("request", "kind", "group"): Value(Place(cel.path(request, "kind", "group"), (), TEXT)),
        ("request", "kind", "version"): Value(
            Place(cel.path(request, "kind", "version"), (), TEXT)
        ),
    }
    if old.whole or not scope.about_pods:
        # Kyverno's extension to controllers knows `oldObject.spec`, and no `oldObject.?spec`.
        objects[("request", "oldObject")] = Value(old)
    account = cel.call("parseServiceAccount", cel.path(user, "username"))
    accounts = {
        "serviceAccountName": Value(Place(cel.path(account, "Name"), (), TEXT)),
        "serviceAccountNamespace": Value(Place(cel.path(account, "Namespace"), (), TEXT)),
    }
    return Names(objects, accounts)
