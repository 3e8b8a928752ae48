"""Values of patches as expressions: objects of a known place as `Object.…{}`, maps as maps.

CEL wants the members of a map or list to be of one type; where they are not, each is `dyn()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions.place import Place
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.jmespath.terms import expression_of
from chartkit.addons.migrate.texts import term_of
from chartkit.engine.cel.syntax import Expr, tree
from chartkit.engine.cel.syntax import build as cel
from chartkit.engine.cel.syntax.spelling import is_field_name
from chartkit.model import Json

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
        elements = [literal_value(each, inside, names, type_name) for each in value]
        is_mixed = len(set(map(_kind, elements))) > 1
        return cel.list_of(map(_dynamic, elements) if is_mixed else elements)
    if not isinstance(value, dict):
        return constant(value, names)
    if any("{{" in key for key in value):
        raise NotConvertible("a variable in a key of a patch")
    if place.type.startswith("{}") or not all(map(is_field_name, value)):
        type_name = ""
    fields = {
        key: literal_value(each, place.child(key), names, type_name and f"{type_name}.{key}")
        for key, each in value.items()
    }
    return made(type_name, {key: (each, False) for key, each in fields.items()})


def constant(value: Json, names: Names) -> Expr:
    """Return a scalar, its variables computed; raises `NotConvertible`."""
    if isinstance(value, str) and "$(" in value:
        raise NotConvertible("a text with a reference, $()")
    return expression_of(term_of(value, names))


def made(type_name: str, members: Mapping[str, tuple[Expr, bool]]) -> Expr:
    """Return an object of a type, without one a map; members: values, and whether optional."""
    if type_name:
        return tree.StructLiteral(
            type_name, tuple(tree.FieldEntry(key, *each) for key, each in members.items())
        )
    kinds = {_kind(each) for each, _ in members.values()}
    is_mixed = len(kinds) > 1
    return tree.MapLiteral(
        tuple(
            tree.MapEntry(cel.literal(key), _dynamic(each) if is_mixed else each, optional)
            for key, (each, optional) in members.items()
        )
    )


def _dynamic(value: Expr) -> Expr:
    return value if _kind(value) == _DYNAMIC else cel.call(_DYNAMIC, value)


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
            return f"map of {'|'.join(sorted({_kind(each.value) for each in value.entries}))}"
        case tree.ListLiteral():
            return f"list of {'|'.join(sorted({_kind(each) for each in value.elements}))}"
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
