"""The names that a rule's expressions see, and what each is in CEL."""

from __future__ import annotations

from dataclasses import replace

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import TEXT, Place
from chartkit.addons.migrate.jmespath import Constant, Names, Term, Value
from chartkit.addons.migrate.jmespath.images import LISTS, Images
from chartkit.addons.migrate.jmespath.terms import REQUEST_KIND, Members
from chartkit.addons.migrate.matching.facts import judged_object
from chartkit.addons.migrate.matching.scope import Scope, operations_of
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.kubernetes.kinds import POD_SPECS


def names_of(scope: Scope, *, is_extended: bool = True) -> Names:
    """Return the names of a rule that speaks of a scope; context entries come on top.

    is_extended: whether Kyverno extends a rule about Pods to their controllers.
    """
    is_extended = is_extended and scope.about_pods
    request = cel.ident("request")
    user = cel.path(request, "userInfo")
    old = replace(scope.object, root=cel.ident("oldObject"))
    operations = operations_of(scope)
    if not operations <= {"UPDATE", "DELETE"}:
        old = replace(old, whole=False)
    namespace = Place(request, ("namespace",), TEXT)
    judged = scope.object
    if "DELETE" in operations:
        # Of a deletion, Kyverno calls the object that goes `request.object`.
        if is_extended:
            raise NotConvertible("a rule about the deletion of Pods, extended to controllers")
        judged = replace(judged, root=judged_object(operations))
    objects: dict[tuple[str, ...], Term] = {
        ("request", "object"): Value(judged),
        ("request", "namespace"): Value(namespace.settled() if scope.is_namespaced else namespace),
        ("request", "name"): Value(Place(request, ("name",), TEXT)),
        ("request", "operation"): Value(
            Place(cel.path(request, "operation"), (), TEXT, among=tuple(sorted(operations)))
        ),
        ("request", "userInfo", "username"): Value(Place(user, ("username",), TEXT)),
        ("request", "userInfo", "groups"): Value(Place(user, ("groups",), "[]string")),
        **{("request", "kind", part): each for part, each in _kind("kind").items()},
        REQUEST_KIND: Constant(Members(_kind("requestKind"))),
    }
    if old.whole or not is_extended:
        # Kyverno's extension to controllers knows `oldObject.spec`, and no `oldObject.?spec`.
        objects[("request", "oldObject")] = Value(old)
    account = cel.call("parseServiceAccount", cel.path(user, "username"))
    accounts = {
        "serviceAccountName": Value(Place(cel.path(account, "Name"), (), TEXT)),
        "serviceAccountNamespace": Value(Place(cel.path(account, "Namespace"), (), TEXT)),
    }
    return Names(objects, {**accounts, **_images(judged, scope)})


def _kind(field: str) -> dict[str, Term]:
    """Return the parts of a kind that a request names."""
    parts = ("group", "version", "kind")
    request = cel.ident("request")
    return {part: Value(Place(cel.path(request, field, part), (), TEXT)) for part in parts}


def _images(judged: Place, scope: Scope) -> dict[str, Term]:
    """Return the images of the containers of Pods, or of the templates of one kind of them."""
    paths = {"spec" if each.kind == "Pod" else POD_SPECS.get(each.kind) for each in scope.kinds}
    path = paths.pop() if len(paths) == 1 else None
    if path is None or "DELETE" in operations_of(scope):
        return {}
    spec = judged
    for step in path.split("."):
        spec = spec.child(step)
    lists: dict[str, Term] = {key: Constant(Images(spec.child(key))) for key in LISTS}
    return {"images": Constant(Members(lists))}
