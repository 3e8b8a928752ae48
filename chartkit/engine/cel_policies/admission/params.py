"""Parameters of admission policies: which objects of the cluster `params` is."""

from __future__ import annotations

from dataclasses import dataclass

from chartkit.engine.kubernetes.kinds import GroupVersionKind, is_cluster_scoped, parse_api_version
from chartkit.engine.kubernetes.selectors import Labelled, compile_selector, read_selector
from chartkit.engine.ports.cluster import Cluster, ObjectKey, labels_of
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json


@dataclass(frozen=True, slots=True)
class ParamRef:
    """The objects of a kind that are a policy's parameters: one by its name, or all that a selector
    matches. namespace: empty for the request's own; fits: the selector, None for all; allows_none:
    whether a request is admitted if there are none."""

    api_version: str
    kind: str
    name: str
    namespace: str
    fits: Labelled | None
    allows_none: bool
    cluster_scoped: bool

    def find(self, namespace: str, cluster: Cluster) -> tuple[Body, ...]:
        """The parameters for a request in a namespace; raises EvaluationError, in the words of an
        API server, where the reference cannot be used."""
        if self.cluster_scoped:
            if self.namespace:
                raise EvaluationError(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                )
            place = ""
        else:
            place = self.namespace or namespace
            if not place:
                raise EvaluationError(
                    "can't use namespaced paramRef to match cluster-scoped resources"
                )
        if self.name:
            found = cluster.find(ObjectKey(self.api_version, self.kind, place, self.name))
            return () if found is None else (found,)
        listed = cluster.select(self.api_version, self.kind, place, None)
        fits = self.fits
        return tuple(each for each in listed if fits is None or fits(labels_of(each)))


def read_param_ref(kind: Json, reference: Json) -> ParamRef | None:
    """Reads `paramKind` and `paramRef`, whose schemas were checked; None without both."""
    if not kind or not reference:
        return None
    api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    selector = read_selector(reference.get("selector"))
    return ParamRef(
        api_version=api_version,
        kind=name,
        name=reference.get("name") or "",
        namespace=reference.get("namespace") or "",
        fits=None if selector is None else compile_selector(selector),
        allows_none=reference.get("parameterNotFoundAction") == "Allow",
        cluster_scoped=is_cluster_scoped(GroupVersionKind(*parse_api_version(api_version), name)),
    )
