"""The environments of Kubernetes' API server for its admission policies."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel import types
from chartkit.engine.cel.declarations import Environment, Library, Variable, environment
from chartkit.engine.cel.library import standard
from chartkit.engine.cel.library.extensions import lists as cel_lists
from chartkit.engine.cel.library.extensions import optionals, sets, strings, two_variable
from chartkit.engine.cel.library.kubernetes import (
    admission,
    authz,
    cidr,
    ip,
    lists,
    mutation,
    naming,
    quantity,
    regex,
    semver,
    urls,
)
from chartkit.engine.cel.library.kyverno import or_value

BASE: Final[tuple[Library, ...]] = (
    standard.LIBRARY,
    urls.LIBRARY,
    regex.LIBRARY,
    lists.LIBRARY,
    authz.LIBRARY,
    optionals.LIBRARY,
    quantity.LIBRARY,
    strings.LIBRARY,
    sets.LIBRARY,
    ip.LIBRARY,
    cidr.LIBRARY,
    naming.LIBRARY,
    authz.SELECTORS_LIBRARY,
    two_variable.LIBRARY,
    semver.LIBRARY,
    cel_lists.LIBRARY,
)
"""In the order in which the API server adds them."""

_MORE: Final[Mapping[str, tuple[Library, ...]]] = {
    "k8s": (),
    "vap": (or_value.LIBRARY,),
    "map": (mutation.LIBRARY, mutation.JSON_PATCH_LIBRARY),
}

_VARIABLES: Final = MappingProxyType(
    {
        "object": Variable(types.DYN),
        "oldObject": Variable(types.DYN),
        "params": Variable(types.DYN),
        "request": Variable(admission.REQUEST),
        "namespaceObject": Variable(admission.NAMESPACE),
    }
)


def make_environment(name: str) -> Environment:
    """The environment of a name among `k8s`, `vap` and `map`."""
    own = Library("kubernetes.variables", variables=_VARIABLES)
    return environment(name, (*BASE, admission.LIBRARY, own, *_MORE[name]))
