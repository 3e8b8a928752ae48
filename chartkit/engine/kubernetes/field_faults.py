"""Kinds of Kubernetes that an API server of a minor version serves, and fields that it rejects or
drops.

Source: the schemas of Kubernetes 1.25 to 1.37, compared by tools/kind_shapes.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from chartkit.engine.kubernetes.kinds import GroupVersionKind, parse_api_version
from chartkit.model import Body, Json
from chartkit.suggestions import suggestion

LIST: Final = "[]"
MAP: Final = "{}"
_TABLE: Final = "kinds.json"
_REQUIRED: Final = "!"


class Field(NamedTuple):
    """A field of a type; type: as the table writes it."""

    type: str
    required: bool


@lru_cache
def type_of_kind(kind: GroupVersionKind) -> str | None:
    """Return the name of the type of one of Kubernetes' own kinds; None for any other."""
    name: str | None = kind_table()["kinds"].get("/".join(filter(None, kind)))
    return name


@cache
def fields_of(type_name: str) -> Mapping[str, Field]:
    """Return the fields of a type of the table by name; none for a type that it does not have."""
    return read_fields(kind_table()["types"].get(type_name, {}))


def read_fields(entry: Mapping[str, str]) -> Mapping[str, Field]:
    """Return the fields of a type by name; entry: the names by their type, as in `name! labels`."""
    return {
        name.removesuffix(_REQUIRED): Field(kind, name.endswith(_REQUIRED))
        for kind, names in entry.items()
        for name in names.split()
    }


@cache
def known_kinds() -> tuple[GroupVersionKind, ...]:
    """Every kind that has a shape, by group, version and name."""
    parts = (text.rpartition("/") for text in kind_table()["kinds"])
    return tuple(
        GroupVersionKind(*parse_api_version(api_version), kind) for api_version, _, kind in parts
    )


@cache
def kind_table() -> Mapping[str, Any]:
    """Return the table: `kinds` gives the type of a kind, `types` the fields of a type."""
    text = Path(__file__).with_name(_TABLE).read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


_NAMES: Final = {
    "bool": "a boolean",
    "double": "a number",
    "int": "an integer",
    "string": "a string",
}
OLDEST: Final = 25
NEWEST: Final = 37
"""The minor versions of Kubernetes that the table is made of; its types are those of the newest."""
_METADATA: Final = "meta.v1.ObjectMeta"
_OLD_METADATA: Final = frozenset({"clusterName", "initializers"})
"""Fields of metadata that API servers wrote once, and that old objects still have."""
_NOT_SENT: Final = frozenset({"sops", "status", "$patch"})
"""Members that no API server gets: the keys of SOPS, which decryption takes away, the status,
which controllers write, and what a patch for kustomize says of its merge."""
_VARIABLE: Final = "${"
"""The beginning of a variable of Flux, whose value may be of another type."""


class FieldFault(NamedTuple):
    """A field with a value of the wrong type, or a field that is unknown to its kind.

    path: keys and indexes; shown: the path as text; problem: as in `is a string, must be a list`;
    hint: a similar field; is_unknown: whether its kind lacks it.
    """

    path: tuple[str | int, ...]
    shown: str
    problem: str
    hint: str | None = None
    is_unknown: bool = False

    def below(self, step: str | int, shown: str) -> FieldFault:
        return self._replace(path=(step, *self.path), shown=shown + self.shown)


_Check = Callable[[Json], list[FieldFault]]


def field_faults(body: Body, minor: int = NEWEST) -> list[FieldFault]:
    """Return the faults of the fields of one of Kubernetes' own kinds, but for its status, as an
    API server of a minor version sees them.

    Null is taken anywhere.
    """
    kind = GroupVersionKind(*parse_api_version(str(body.get("apiVersion"))), str(body.get("kind")))
    name = type_of_kind(kind)
    if name is None:
        return []
    sent = {key: value for key, value in body.items() if key not in _NOT_SENT}
    faults = _check(name, minor)(sent)
    return [fault._replace(shown=fault.shown.removeprefix(".")) for fault in faults]


def type_faults(body: Body) -> Iterator[str]:
    """Yield the fields of an object with the wrong type: `path: is …, must be …`."""
    faults = field_faults(body)
    return (f"{fault.shown}: {fault.problem}" for fault in faults if not fault.is_unknown)


def type_problem(value: Json, type_name: str) -> str:
    """Return `is a string, must be a boolean` for a value that is not of a type; else nothing."""
    return next((fault.problem for fault in _check(type_name, NEWEST)(value)), "")


@cache
def _check(wanted: str, minor: int) -> _Check:
    """Return the check of values that are not null by the name of their type."""
    if wanted.startswith(LIST):
        return _members_check(list, "a list", _check(wanted.removeprefix(LIST), minor))
    if wanted.startswith(MAP):
        return _members_check(dict, "an object", _check(wanted.removeprefix(MAP), minor))
    if wanted in _NAMES:
        classes: type | tuple[type, ...] = {"bool": bool, "string": str}.get(wanted, (int, float))
        is_number = wanted in ("double", "int")

        def run(value: Json) -> list[FieldFault]:
            fits = isinstance(value, classes) and not (is_number and isinstance(value, bool))
            if fits and (wanted != "int" or float(value).is_integer()):
                return []
            if isinstance(value, str) and value.startswith(_VARIABLE):
                return []
            return _wrong(value, _NAMES[wanted])

        return run
    return _object_check(wanted, minor) if fields_of(wanted) else lambda _: []


def _in_versions(name: str, part: str) -> Iterator[tuple[str, int]]:
    """Yield the fields of a type that came or went, each with the minor version."""
    entry: Mapping[str, str] = kind_table()[part].get(name, {})
    return ((field, int(minor)) for minor, names in entry.items() for field in names.split())


def _members_check(wanted: type[Any], name: str, check: _Check) -> _Check:
    def run(value: Json) -> list[FieldFault]:
        if not isinstance(value, wanted):
            return _wrong(value, name)
        faults: list[FieldFault] = []
        for step, member in enumerate(value) if wanted is list else value.items():
            if member is not None and (inner := check(member)):
                faults += [fault.below(step, f"[{step}]") for fault in inner]
        return faults

    return run


def _object_check(name: str, minor: int) -> _Check:
    later = {field: came for field, came in _in_versions(name, "sinceFields") if came > minor}
    fields = {field: kind for field, kind in fields_of(name).items() if field not in later}
    earlier = (field for field, last in _in_versions(name, "untilFields") if minor <= last)
    checks: dict[str, _Check] = {field: lambda _: [] for field in earlier}

    def run(value: Json) -> list[FieldFault]:
        if not isinstance(value, dict):
            return _wrong(value, "an object")
        faults: list[FieldFault] = []
        for key, member in value.items():
            # A type may have fields of its own type: their checks are made when they are needed.
            check = checks.get(key)
            if check is None and key in fields:
                check = checks[key] = _check(fields[key].type, minor)
            if check is None:
                if name != _METADATA or key not in _OLD_METADATA:
                    problem, hint = f"is not a field of Kubernetes 1.{minor}", None
                    if key in later:
                        problem += f": it came with 1.{later[key]}"
                    else:
                        hint = suggestion(str(key), fields)
                    faults.append(FieldFault((key,), f".{key}", problem, hint, is_unknown=True))
            elif member is not None and (inner := check(member)):
                faults += [fault.below(key, f".{key}") for fault in inner]
        return faults

    return run


def _wrong(value: Json, wanted: str) -> list[FieldFault]:
    # The type of a value, and not the value: it may be a Secret's.
    if isinstance(value, bool):
        type_name = "a boolean"
    elif isinstance(value, str):
        type_name = "a string"
    elif isinstance(value, list):
        type_name = "a list"
    elif isinstance(value, dict):
        type_name = "an object"
    else:
        type_name = "a number" if float(value).is_integer() else "a number with a fraction"
    return [FieldFault((), "", f"is {type_name}, must be {wanted}")]


_MINOR: Final = re.compile(r"v?1\.(\d{1,3})(?!\d)")
_NEVER_STORED: Final = ("Config", "List", "Options", "Review", "Status")
"""The ends of kinds that are in files, and are not objects of an API server."""
_COMMON: Final[Mapping[str, frozenset[str]]] = {
    "v1": frozenset(("ConfigMap", "Namespace", "Pod", "Secret", "Service", "ServiceAccount")),
    "apps/v1": frozenset(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
    "batch/v1": frozenset(("CronJob", "Job")),
}
"""Kinds that every version serves, for which the table of all kinds is not loaded."""


class KindFault(NamedTuple):
    """problem: as in `Kubernetes 1.37 does not serve Deployment of apps/v1beta1`."""

    problem: str
    hint: str | None = None


def minor_of(version: str | None) -> int:
    """Return the minor version of Kubernetes that a text names (`v1.34.0`), limited to the versions
    of the table; the newest for any other text, and without one."""
    version_match = _MINOR.match(version or "")
    return max(OLDEST, min(int(version_match[1]), NEWEST)) if version_match else NEWEST


@lru_cache(maxsize=1024)
def kind_fault(api_version: str, kind: str, minor: int = NEWEST) -> KindFault | None:
    """Return why an API server of a minor version does not serve a kind; None for a kind that it
    serves, and for groups that are not Kubernetes' own."""
    if kind in _COMMON.get(api_version, ()) or kind.endswith(_NEVER_STORED):
        return None
    group, version = parse_api_version(api_version)
    wanted = GroupVersionKind(group, version, kind)
    kinds = _kinds()
    if group not in _groups():
        return None
    span = kinds.get(wanted)
    if span is not None and minor in span:
        return None
    problem = f"Kubernetes 1.{minor} does not serve {kind} of {api_version}"
    if span is not None:
        came, went = span.start, span.stop
        problem += f": it came with 1.{came}" if minor < came else f": it was removed in 1.{went}"
    served = [gvk for gvk, when in kinds.items() if minor in when]
    named = [gvk for gvk in served if gvk.kind == kind]
    named.sort(key=lambda gvk: (gvk.group != group, len(gvk.version), gvk.version))
    of_group = [gvk for gvk in named if gvk.group == group]
    if places := " and ".join("/".join(filter(None, gvk[:2])) for gvk in (of_group or named)[:2]):
        return KindFault(problem, f"it is in {places}")
    own = (gvk.kind for gvk in served if gvk.group == group)
    return KindFault(
        problem, suggestion(kind, own) or suggestion(kind, (gvk.kind for gvk in served))
    )


@cache
def _kinds() -> Mapping[GroupVersionKind, range]:
    """The minor versions that serve each kind, from the oldest schema to the newest."""
    table = kind_table()
    since, until = table["sinceKinds"], table["untilKinds"]
    parts = (text.rpartition("/") for text in sorted({*table["kinds"], *until}))
    return {
        GroupVersionKind(*parse_api_version(api_version), kind): range(
            since.get(f"{api_version}/{kind}", OLDEST),
            until.get(f"{api_version}/{kind}", NEWEST) + 1,
        )
        for api_version, _, kind in parts
    }


@cache
def _groups() -> frozenset[str]:
    return frozenset(("extensions", *(kind.group for kind in _kinds())))
