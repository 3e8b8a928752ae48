"""The environments that expressions are written for, each made when it is first asked for.

Which functions, macros, names and options each has follows Kubernetes 1.36 and Kyverno 1.19; a
committed table of every signature is compared with them. `standard` is CEL on its own, with every
extension of the reference implementation, for expressions that have nothing to do with Kubernetes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.declarations import (
    Environment,
    Library,
    Options,
    Variable,
    environment,
)
from chartkit.engine.cel.types import DYN

_NAMES: Final = (
    *("k8s", "vap", "map", "vpol", "mpol", "gpol", "dpol", "ivpol", "ivpol-json", "matchimage"),
    *("nvpol", "nmpol", "ngpol", "ndpol", "nivpol", "standard"),
)
_LENIENT: Final = Options(validate=False, fold=False, cost_limit=None)
_OPTIONS: Final[Mapping[str, Options]] = {
    "gpol": replace(_LENIENT, homogeneous=False),
    "dpol": _LENIENT,
    "matchimage": _LENIENT,
}
_HIDDEN: Final = {"dpol": frozenset({"net.CIDR", "net.IP", "optional_type"})}
"""Names of types that a kind does not know, for want of a type provider that has them."""
_NAMESPACED: Final = {
    "kyverno.resource": "kyverno.resource:NAMESPACED_LIBRARY",
    "kyverno.world:GENERATOR": "kyverno.world:NAMESPACED_GENERATOR",
}
"""The libraries in place of others for a policy of a namespace."""


@cache
def _environment(name: str) -> Environment:
    """The environment of a kind; of a namespaced one where its name begins with an n."""
    kind = name if name in _rows() else name.removeprefix("n")
    names = _named(kind)
    if kind != name:
        names = [_NAMESPACED.get(short, short) for short in names]
    # The cluster's environment has some of what every kind adds: it counts once.
    libraries = {library.name: library for library in map(_library, names)}
    made = environment(name, tuple(libraries.values()), _OPTIONS.get(kind))
    hidden = _HIDDEN.get(kind, frozenset())
    kept = {key: value for key, value in made.variables.items() if key not in hidden}
    return replace(made, variables=MappingProxyType(kept))


@cache
def _rows() -> Mapping[str, Sequence[str]]:
    """The libraries of environments in the order in which Kubernetes and Kyverno add them, which
    shows: of a function that two have, the first one's type. `@` names another row."""
    rows: Mapping[str, Sequence[str]] = json.loads(
        Path(__file__).with_name("libraries.json").read_text("utf-8")
    )
    return rows


def _named(row: str) -> list[str]:
    names: list[str] = []
    for name in _rows()[row]:
        names += _named(name[1:]) if name.startswith("@") else [name]
    return names


def _library(name: str) -> Library:
    module, _, attribute = name.partition(":")
    room = __name__ if module == "own" else "chartkit.engine.cel.library"
    library: Library = getattr(import_module(f"{room}.{module}"), attribute or "LIBRARY")
    return library


class _Environments(Mapping[str, Environment]):
    """Environments by name; asking for one imports no more than it needs."""

    def __getitem__(self, name: str) -> Environment:
        return _environment(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)

    def __contains__(self, name: object) -> bool:
        return name in _NAMES


ENVIRONMENTS: Final[Mapping[str, Environment]] = _Environments()
"""k8s: what an API server has. vap: a ValidatingAdmissionPolicy as Kyverno runs it (`orValue` of
anything). map: a MutatingAdmissionPolicy. vpol, mpol, gpol, dpol, ivpol: Kyverno's kinds; with an
n before it a namespaced kind, whose functions reach its own namespace. ivpol-json: an
ImageValidatingPolicy over plain JSON. matchimage: expressions over an image's reference."""


def declaring(environment: Environment, names: Iterable[str]) -> Environment:
    """The environment with a variable of any type for each name that it lacks.

    `variables` is one of these: its fields belong to a policy, which is unknown here.
    """
    declared = environment.variables.keys() - {"variables"}
    more = {name: Variable(DYN) for name in names if name not in declared}
    return environment.extend(more) if more else environment
