"""The environments that expressions are written for, each made when it is first asked for.

Which functions, macros, names and options each has follows Kubernetes 1.36 and Kyverno 1.19; a
committed table of every signature is compared with them. `standard` is CEL on its own, with every
extension of the reference implementation, for expressions that have nothing to do with Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from chartkit.engine.cel.declarations import Environment, Variable
from chartkit.engine.cel.types import DYN

_ROOMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("k8s", "vap", "map"), "kubernetes"),
    **dict.fromkeys(("vpol", "mpol", "gpol", "dpol", "ivpol", "ivpol-json"), "kyverno"),
    **dict.fromkeys(("matchimage", "nvpol", "nmpol", "ngpol", "ndpol", "nivpol"), "kyverno"),
    "standard": "standard",
}


@cache
def _environment(name: str) -> Environment:
    made: Environment = import_module(f"{__name__}.{_ROOMS[name]}").make_environment(name)
    return made


class _Environments(Mapping[str, Environment]):
    """Environments by name; asking for one imports no more than it needs."""

    def __getitem__(self, name: str) -> Environment:
        return _environment(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_ROOMS)

    def __len__(self) -> int:
        return len(_ROOMS)

    def __contains__(self, name: object) -> bool:
        return name in _ROOMS


ENVIRONMENTS: Final[Mapping[str, Environment]] = _Environments()
"""k8s: what an API server has. vap: a ValidatingAdmissionPolicy as Kyverno runs it (`orValue` of
anything). map: a MutatingAdmissionPolicy. vpol, mpol, gpol, dpol, ivpol: Kyverno's kinds; with an
n before it a namespaced kind, whose functions reach its own namespace. ivpol-json: an
ImageValidatingPolicy over plain JSON. matchimage: expressions over an image's reference."""


def declaring(environment: Environment, names: Iterable[str]) -> Environment:
    """The environment in which the names that it has not are variables of any type.

    So is `variables`: its fields are a policy's, and who names it has no policy.
    """
    known = environment.variables.keys() - {"variables"}
    more = {name: Variable(DYN) for name in names if name not in known}
    return environment.extend(more) if more else environment
