"""Parameters of admission policies: which objects of the cluster `params` is."""

from __future__ import annotations

from dataclasses import dataclass

from chartkit.engine.cluster import Cluster, ObjectKey
from chartkit.engine.kinds import GroupVersionKind, is_cluster_scoped, parse_api_version
from chartkit.engine.policy import LabelSelector
from chartkit.engine.policy_reader import read_selector
from chartkit.errors import EvaluationError
from chartkit.model import Body, Json


@dataclass(frozen=True, slots=True)
class ParamRef:
    """Which objects of a kind are a policy's parameters: one by its name, or all that a selector
    takes. namespace: empty for the request's own; allows_none: whether a request for which there
    is none is admitted."""

    api_version: str
    kind: str
    name: str
    namespace: str
    selector: LabelSelector | None
    allows_none: bool

    def find(self, namespace: str, cluster: Cluster) -> tuple[Body, ...]:
        """The parameters for a request in a namespace; raises EvaluationError, in the words of an
        API server, where the reference cannot be used."""
        group, version = parse_api_version(self.api_version)
        if is_cluster_scoped(GroupVersionKind(group, version, self.kind)):
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
        return tuple(cluster.select(self.api_version, self.kind, place, self.selector))


def read_param_ref(kind: Json, reference: Json) -> ParamRef | None:
    """Reads `paramKind` and `paramRef`, whose schemas were checked; None without both."""
    if not kind or not reference:
        return None
    return ParamRef(
        api_version=kind.get("apiVersion") or "",
        kind=kind.get("kind") or "",
        name=reference.get("name") or "",
        namespace=reference.get("namespace") or "",
        selector=read_selector(reference.get("selector")),
        allows_none=reference.get("parameterNotFoundAction") == "Allow",
    )
