"""Places in an object as expressions reach them, with what is known of their types.

Of Kubernetes' own kinds the table of shapes knows the fields, their types and which are required:
an optional is written only where a field may be absent. Of other kinds nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import Final, TypeVar

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.build import Operand
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.kubernetes.field_faults import Field, fields_of, read_fields, type_of_kind
from chartkit.engine.kubernetes.kinds import GroupVersionKind

T = TypeVar("T")

UNKNOWN: Final = "dyn"
TEXT: Final = "string"
MIXED: Final = "one of several"
"""The type of a value that is of one of several types, which nothing takes for any of them."""
TIME: Final = "timestamp"
"""The type of a time that functions give: a timestamp in CEL, a text in JMESPath."""
SPAN: Final = "duration"
"""The type of a span between times: a duration in CEL, a text in JMESPath."""
QUANTITY: Final = "quantity"
INT_OR_TEXT: Final = "int-or-string"
SIZE: Final = "size"
"""The type of what arithmetic of sizes gives: a quantity in CEL, a text in JMESPath."""
_LIST: Final = "[]"
_MAP: Final = "{}"
_NULLABLE: Final = {"rules": "[]rbac.v1.PolicyRule", "limits": "[]core.v1.LimitRangeItem"}
"""By field, lists whose Go types have no `omitempty`: of an aggregated role the rules are null."""
_EITHER: Final = "|"
_TEMPLATE: Final = "template of "
OBJECT: Final = "object"
"""The type of an object of a kind that the table does not have."""
_ALWAYS: Final = {"apiVersion": TEXT, "kind": TEXT, "metadata": "meta.v1.ObjectMeta"}
ANY_LIST: Final = f"{_LIST}{UNKNOWN}"
ANY_MAP: Final = f"{_MAP}{UNKNOWN}"
EVERYTHING: Final = "*"
_OF_ROLES: Final = tuple(f"rules[].{name}[]" for name in ("apiGroups", "resources", "verbs"))
IMAGE: Final = "image"
"""The type of what a registry knows of an image."""
CONFIG_MAP: Final = "read ConfigMap"
"""The type of a ConfigMap that an expression reads: where it or its data is missing, it fails."""
IMAGE_REFERENCE: Final = "image reference"
"""The type of a text that names an image, of whose parts expressions speak."""
CERTIFICATE: Final = "certificate"
"""The type of a decoded certificate, with the fields that both languages give."""
_ANSWERS: Final = {
    type_name: read_fields(entry)
    for type_name, entry in {
        IMAGE: {
            TEXT: "image! resolvedImage! registry! repository! identifier!",
            "image.manifest": "manifest!",
            "image.config": "configData!",
        },
        "image.manifest": {"[]image.layer": "layers!", "{}string": "annotations"},
        "image.layer": {"double": "size!", TEXT: "digest!"},
        "image.config": {"image.settings": "config!", TEXT: "architecture! os! created!"},
        CERTIFICATE: {
            TEXT: "NotBefore! NotAfter! Raw! Signature!",
            "bool": "IsCA! BasicConstraintsValid!",
            "double": "KeyUsage! PublicKeyAlgorithm!",
            "certificate.key": "PublicKey!",
            "certificate.name": "Issuer!",
        },
        "certificate.key": {TEXT: "N!", "double": "E!"},
        "certificate.name": {TEXT: "CommonName! SerialNumber!"},
        "image.settings": {
            TEXT: "User WorkingDir",
            "[]string": "Env Cmd Entrypoint",
            "{}string": "Labels",
            "{}dyn": "Volumes",
        },
    }.items()
}
"""The types of what a registry knows of an image, and of a certificate; numbers are doubles."""
_OTHER_NAMES: Final = {(IMAGE, "configData"): "config"}
"""By type and key: the name of a field in CEL where it differs."""
_LIST_OF: Final = "list:"
_OPTIONAL: Final = cel.ident("optional")
TIMES: Final = ("metadata.creationTimestamp", "metadata.deletionTimestamp")
"""Texts that API servers write; null in what is created."""
_HOLDERS: Final = frozenset({"spec", "template", "jobTemplate"})
"""Fields that an object must have because something in them is required."""
_CHECKED: Final = {
    ("core.v1.Container", "image"),
    ("core.v1.EphemeralContainer", "image"),
    ("core.v1.PersistentVolume", "spec"),
    ("core.v1.PersistentVolumeClaim", "spec"),
    ("core.v1.Service", "spec"),
    ("networking.v1.Ingress", "spec"),
}
"""By type: fields that an API server requires, although their types do not say so."""


_SETTLED: Final[ContextVar[Mapping[str, str]]] = ContextVar("settled_types", default={})  # noqa: B039
_STRUCTURED: Final = (ANY_MAP, ANY_LIST, "bool")
_MOST_SETTLED: Final = 20
"""Fields whose types a rule may leave open: it is converted once more for each."""


class SeveralTypes(NotConvertible):
    """A field of unknown type that is compared with values of several types.

    path: of the field; type: the last of these types.
    """

    def __init__(self, path: str, type_: str) -> None:
        super().__init__(
            f"{path} is compared with values of several types, and its own type is not known"
        )
        self.field, self.type = path, type_


def with_types_settled(convert: Callable[[], T]) -> T:
    """Return what a conversion makes; a field that is compared with texts, as by a precondition of
    `field || ''`, and then taken for an object, a list or a boolean is one of these."""
    settled = dict[str, str]()
    token = _SETTLED.set(settled)
    try:
        while True:
            try:
                return convert()
            except SeveralTypes as conflict:
                if conflict.type not in _STRUCTURED or len(settled) == _MOST_SETTLED:
                    raise
                settled[conflict.field] = conflict.type
    finally:
        _SETTLED.reset(token)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an object.

    root: the expression that the optional steps start from, which is always there; optional: the
    steps from there, the first of which may be absent; type: as the table of shapes writes it
    (`string`, `int`, `bool`, `quantity`, `int-or-string`, `[]T`, `{}T`, a type's name), `dyn` for
    one that is not known; path: where it is in the object, `spec.hosts[]`; assumed: what was taken
    for granted of fields of unknown types, by path, for all places of an object; whole: whether
    there is an object at all, as the old one of a CREATE is not; given: what else must hold for
    there to be a value; among: the texts that it may be, none where they are not known; validated:
    whether an API server has checked the object; may_be_none: whether the root is what an API
    server was asked for, which is null where there is no such object.
    """

    root: Expr
    optional: tuple[str | int | Expr, ...] = ()
    type: str = UNKNOWN
    path: str = ""
    whole: bool = True
    assumed: dict[str, str] | None = field(default=None, compare=False, repr=False)
    given: Expr = cel.TRUE
    among: tuple[str, ...] = ()
    validated: bool = False
    may_be_none: bool = False

    @property
    def is_optional(self) -> bool:
        """Report whether there may be nothing here."""
        return bool(self.optional) or self.given != cel.TRUE

    @property
    def is_known(self) -> bool:
        """Report whether the type is known; values of another are refused by the API server."""
        return self.type != UNKNOWN

    @property
    def is_list(self) -> bool:
        """Report whether it is known to be a list."""
        return self.type.startswith(_LIST)

    @property
    def is_map(self) -> bool:
        """Report whether it is known to be an object or a map."""
        return self.type.startswith(_MAP) or all(map(_fields, self.type.split(_EITHER)))

    @property
    def value(self) -> Expr:
        """Return the value; evaluating it where there is none is an error."""
        return cel.path(self.root, *self.optional)

    @property
    def as_optional(self) -> Expr:
        """Return the value as an optional: `root.?a.?b`, none where a step is absent."""
        if self.given == cel.TRUE:
            return cel.optional_field(self._there, *self.optional)
        inner = replace(self, given=cel.TRUE)
        some = inner.as_optional if self.optional else cel.method(_OPTIONAL, "of", self.value)
        return cel.conditional(self.given, some, cel.method(_OPTIONAL, "none"))

    @property
    def _there(self) -> Expr:
        """Return the root, which is an error where there is no such object."""
        if not self.may_be_none:
            return self.root
        return cel.method(cel.method(_OPTIONAL, "ofNonZeroValue", self.root), "value")

    def or_value(self, default: Operand) -> Expr:
        """Return the value, or a default where it may be absent and is."""
        if self.given != cel.TRUE:
            inner = replace(self, given=cel.TRUE).or_value(default)
            if default == cel.NULL:
                # Of a type that CEL knows there is no null.
                inner = cel.call("dyn", inner)
            return cel.conditional(self.given, inner, default)
        if not self.optional:
            return self.value
        if self.may_be_null:
            absent = cel.equal(cel.or_value(self.as_optional, cel.NULL), cel.NULL)
            # Of the answer of an API, the checker knows no type that a loop takes.
            value = cel.call("dyn", self.value) if self.may_be_none else self.value
            return cel.conditional(absent, default, value)
        return cel.or_value(self.as_optional, default)

    @property
    def may_be_null(self) -> bool:
        """Report whether an API server writes null where there is nothing."""
        return bool(self.optional) and _NULLABLE.get(str(self.optional[-1])) == self.type

    def is_present(self) -> Expr:
        """Report whether there is a value: true where it is always there."""
        if self.given != cel.TRUE:
            there = replace(self, given=cel.TRUE).is_present()
            return cel.all_of(test for test in (self.given, there) if test != cel.TRUE)
        match self.optional:
            case ():
                return cel.TRUE
            case (str() as key,):
                return cel.has(self._there, key)
            case _:
                return cel.method(self.as_optional, "hasValue")

    def child(self, key: str) -> Place:
        """Return the place of a field, or of an entry of a map."""
        type_, required = self._field(key)
        path = f"{self.path}.{key}" if self.path else key
        if type_ == UNKNOWN and path in _SETTLED.get():
            return replace(self, optional=(*self.optional, key), path=path, type=UNKNOWN).taken_for(
                _SETTLED.get()[path]
            )
        key = _OTHER_NAMES.get((self.type, key), key)
        if self.optional or not (required and self.whole):
            return replace(self, optional=(*self.optional, key), type=type_, path=path)
        root = cel.step(self.root, key)
        return replace(self, root=root, type=type_, path=path, may_be_none=False)

    def entry(self, key: Expr) -> Place:
        """Return the place of a map's entry by a key that is computed."""
        inner = self.type.removeprefix(_MAP)
        return replace(self, optional=(*self.optional, key), type=inner, path=f"{self.path}.*")

    def taken_for(self, type_: str) -> Place:
        """Return the place with a type where none is known, and note that it was assumed.

        Raises `SeveralTypes` where another type was assumed before.
        """
        if self.is_known:
            return self
        if self.assumed is not None and self.path and self.path not in TIMES:
            settled = _SETTLED.get()
            before = self.assumed.setdefault(self.path, settled.get(self.path, type_))
            if self.path in settled:
                type_ = before
            elif before != type_:
                raise SeveralTypes(self.path, before if before in _STRUCTURED else type_)
        return replace(self, type=type_)

    def at(self, index: int) -> Place:
        """Return the place of an element of the list here, which may not be there."""
        inner = self.type.removeprefix(_LIST) if self.is_list else UNKNOWN
        element = replace(self, optional=(*self.optional, index), type=inner, path=f"{self.path}[]")
        is_there = self.validated and not self.is_optional and index == 0
        if is_there and self.path.endswith("spec.containers") and inner == "core.v1.Container":
            # A Pod without containers is refused.
            return replace(element, root=cel.index(self.root, index), optional=())
        return element

    @property
    def requires_something(self) -> bool:
        """Report whether an object here cannot be empty."""
        return all(
            any(member.required for member in _fields(type_).values())
            for type_ in self.type.split(_EITHER)
        )

    def element(self, variable: str) -> Place:
        """Return the place of a loop's variable over the list here."""
        inner = self.type.removeprefix(_LIST) if self.is_list else UNKNOWN
        path = f"{self.path}[]" if self.path else ""
        return replace(
            self,
            root=cel.ident(variable),
            optional=(),
            type=inner,
            path=path,
            given=cel.TRUE,
            may_be_none=False,
        )

    def settled(self) -> Place:
        """Return the same place where it is known to be there: after `is_present`."""
        is_root = self.may_be_none and not self.optional
        return replace(self, root=self.value, optional=(), given=cel.TRUE, may_be_none=is_root)

    def _field(self, key: str) -> tuple[str, bool]:
        if self.type.startswith(_MAP):
            return self.type.removeprefix(_MAP), False
        declared = _fields(self.type).get(key)
        if declared is None and self.type == CERTIFICATE:
            raise NotConvertible(f"the field {key} of a certificate: CEL does not give it")
        if declared is None:
            return UNKNOWN, False
        types = self.type.removeprefix(_TEMPLATE).split(_EITHER)
        is_holder = key in _HOLDERS and all(key in _fields(type_) for type_ in types)
        holds = is_holder and any(field.required for field in _fields(declared.type).values())
        is_checked = self.validated and all((type_, key) in _CHECKED for type_ in types)
        is_required = declared.required and _NULLABLE.get(key) != declared.type
        return declared.type, is_required or holds or is_checked


def of_templates(pod: Place) -> Place:
    """Return the place of a Pod as it is in a rule that is extended to controllers: its metadata
    comes from the template, which may have none."""
    return replace(pod, type=f"{_TEMPLATE}{pod.type}")


def not_extended(whole: Place) -> Place:
    """Return the place of an object as Kyverno does not find it where it extends an expression
    to controllers: there it is the controller itself."""
    type_ = whole.type.removeprefix(_TEMPLATE)
    return replace(whole, root=cel.call(UNKNOWN, whole.root), type=type_)


def list_type(type_: str) -> str:
    """Return the type of the list that an API server answers with, its elements in `items`."""
    return f"{_LIST_OF}{type_}"


def object_of(kinds: Sequence[GroupVersionKind] = (), variable: str = "object") -> Place:
    """Return the place of an object of one of several kinds; none: of any kind."""
    types = [type_of_kind(kind) or OBJECT for kind in kinds]
    return Place(cel.ident(variable), (), _EITHER.join(sorted(set(types))) or OBJECT, assumed={})


@cache
def _fields(type_name: str) -> Mapping[str, Field]:
    """Return the fields of one of several types, with what is the same of each: only those that all
    have if one of them may have others."""
    types = type_name.split(_EITHER)
    of_each = [_fields_of_one(type_) for type_ in types]
    is_open = OBJECT in types or not all(of_each)
    fields = {}
    for name in dict.fromkeys(name for members in of_each for name in members):
        named = [members[name] for members in of_each if name in members]
        has_all = len(named) == len(of_each)
        if has_all or not is_open:
            type_ = reduce(either, (member.type for member in named))
            fields[name] = Field(type_, has_all and all(member.required for member in named))
    return fields


def takes_everything(path: str) -> bool:
    """Report whether a `*` at a path means everything, as in roles, and is not a pattern."""
    return path.endswith(_OF_ROLES)


def either(first: str, other: str) -> str:
    """Return the type of a value that is of one of two types."""
    for holder in (_LIST, _MAP):
        if first.startswith(holder) and other.startswith(holder):
            return holder + either(first.removeprefix(holder), other.removeprefix(holder))
    names = set(first.split(_EITHER)) | set(other.split(_EITHER))
    is_mixed = len(names) > 1 and any(name.startswith((_LIST, _MAP)) for name in names)
    return UNKNOWN if UNKNOWN in names or is_mixed else _EITHER.join(sorted(names))


def _fields_of_one(type_name: str) -> Mapping[str, Field]:
    if type_name.startswith(_LIST_OF):
        return {"items": Field(f"{_LIST}{type_name.removeprefix(_LIST_OF)}", required=True)}
    if type_name.startswith(_TEMPLATE):
        fields = _fields_of_one(type_name.removeprefix(_TEMPLATE))
        return {**fields, "metadata": Field(fields["metadata"].type, required=False)}
    if type_name in _ANSWERS:
        return _ANSWERS[type_name]
    if type_name == CONFIG_MAP:
        return {**fields_of("core.v1.ConfigMap"), "data": Field("{}string", required=True)}
    if type_name == OBJECT:
        return {name: Field(kind, required=True) for name, kind in _ALWAYS.items()}
    fields = fields_of(type_name)
    if "metadata" not in fields or "kind" not in fields:
        return fields
    return {**fields} | {name: Field(fields[name].type, required=True) for name in _ALWAYS}
