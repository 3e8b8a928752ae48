"""Answers to the expressions of policies, from a scan's objects and recorded answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.printing import as_written
from chartkit.engine.cel.shapes import own_kind
from chartkit.engine.jmespath.nodes import current_sources, current_time
from chartkit.engine.kubernetes.kinds import parse_api_version
from chartkit.engine.ports.services import MOST_BYTES, BadUrlError, Ending, ServiceCall, posted
from chartkit.engine.ports.world import UnknownEntry, World
from chartkit.errors import LookupFailed, NoSource, Reraise
from chartkit.go.json_decoder import JsonError, parse_first
from chartkit.go.strconv import Int64
from chartkit.model import Body, Json

_CONFINED: Final = "globalContext.* is not allowed in namespaced policies"
_NAMESPACED: Final = (
    "http calls are not allowed in namespaced policies: set --allowHTTPInNamespacedPolicies to "
    "enable"
)


_OF_SOURCE: Final = frozenset(
    ("uid", "selfLink", "creationTimestamp", "managedFields", "resourceVersion")
)
"""Metadata that the API server gave a source, and that its copy does not have."""


class ClusterHost(Host):
    """The world of one policy: the objects that are there for it, and what was recorded.

    It answers as a cluster does, where Kyverno's command-line program departs from one: labels
    select, a list over all namespaces has the objects of all, and one of Kubernetes' own kinds may
    have none. Any other resource without objects looks like one that the cluster does not know: to
    list it is an error, as in that program. generated: what the policy has made so far.
    """

    def __init__(
        self,
        world: World,
        policy: str,
        rule: str = "",
        namespace: str = "",
        now: Callable[[], datetime] = current_time,
        chance: Callable[[int], int] | None = None,
        may_call: bool | None = None,
    ) -> None:
        """policy: its name, or `namespace/name`; now, chance: the time, and a number below the one
        it is given, by the sources of the run; may_call: whether it may call services, None: if it
        is of no namespace."""
        self.policy_namespace = namespace
        self.generated: list[Body] = []
        self._world = world
        self._cluster = world.api.cluster(policy, rule)
        self._now = now
        self._chance = chance
        self._may_call = not namespace if may_call is None else may_call

    def get_resource(
        self, api_version: str, resource: str, namespace: str, name: str, /
    ) -> Body | None:
        main, _, _ = resource.partition("/")
        with Reraise("", LookupFailed, CelError):
            return self._cluster.found(api_version, main, namespace, name)

    def list_resources(
        self, api_version: str, resource: str, namespace: str, labels: Mapping[str, str], /
    ) -> Body:
        own = own_kind(api_version, resource)
        kind = self._kind_there(api_version, resource) if own is None else own.kind
        with Reraise("", LookupFailed, CelError):
            listed = self._cluster.listed(api_version, resource, namespace)
            items = [body for body in listed if _selected(body, labels)]
        return {"apiVersion": api_version, "kind": f"{kind}List", "items": items}

    def _kind_there(self, api_version: str, resource: str) -> str:
        """The kind of the objects of a resource; raises `CelError` for an unknown resource."""
        kind = self._cluster.kind_served(api_version, resource)
        if kind is not None:
            return kind
        group, _ = parse_api_version(api_version)
        name = f"{resource}.{group}" if group else resource
        raise CelError(f"{name} resource not found")

    def post_resource(self, api_version: str, resource: str, namespace: str, body: Body, /) -> Body:
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        inside = f"/namespaces/{namespace}" if namespace else ""
        path = f"{root}{inside}/{resource}"
        recorded = self._world.mocks.recorded("POST", path)
        if recorded is not None and isinstance(recorded.body, dict):
            return recorded.body
        with Reraise("", LookupFailed, CelError):
            answer: Json = self._world.api.call("POST", path, body)
        if not isinstance(answer, dict):
            raise CelError(f"the answer to POST {path} is not an object")
        return answer

    def plural(self, api_version: str, kind: str, /) -> str:
        return self._cluster.plural(api_version, kind)

    def global_context(self, name: str, projection: str, /) -> Json:
        if self.policy_namespace:
            raise CelError(_CONFINED)
        try:
            return self._world.global_context.data(name, projection)
        except (NoSource, UnknownEntry):
            return None
        except LookupFailed as error:
            raise CelError(error.message) from None

    def http(
        self, method: str, url: str, headers: Mapping[str, str], body: Json, ca_bundle: str, /
    ) -> Json:
        recorded = self._world.mocks.recorded(method, url)
        if recorded is not None:
            # A recorded answer is as a cluster has it and, for policies written for Kyverno's test
            # command, as that command has it: with the whole as `body`.
            return {"body": recorded.body, **_answer(recorded.status, recorded.body)}
        if not self._may_call:
            raise CelError(_NAMESPACED)
        data = posted(body) if method == "POST" else None
        call = ServiceCall(method, url, tuple(headers.items()), data, ca_bundle)
        try:
            answer = self._world.services.ask(call)
        except BadUrlError as error:
            raise CelError(f"invalid URL: {error.message}") from None
        except NoSource as error:
            raise CelError(str(error)) from None
        except LookupFailed as error:
            raise CelError(f"request failed: {error}") from None
        if answer.ending is Ending.TOO_LARGE:
            raise CelError(f"the answer is larger than {MOST_BYTES:,} bytes")
        return _answer(answer.status, _decoded(answer.body))

    def image_data(self, reference: str, /) -> Body:
        with Reraise("", LookupFailed, CelError):
            return self._world.images.descriptor(reference)

    def generate(self, namespace: str, resources: Sequence[Body], /) -> None:
        for resource in resources:
            items = resource.get("items")
            members = items if isinstance(items, list) else [resource]
            self.generated.extend(self._placed(namespace, member) for member in members)

    def _placed(self, namespace: str, body: Body) -> Body:
        """An object in the namespace it is made in; raises `CelError`."""
        api_version, kind = str(body.get("apiVersion")), str(body.get("kind"))
        if self._cluster.is_cluster_scoped(api_version, kind):
            if namespace and self.policy_namespace:
                name = f"{api_version}/{kind}"
                raise CelError(
                    f'cross-scope generation denied: a policy scoped to namespace "{namespace}" '
                    f"cannot generate cluster-scoped resource {name}"
                )
            namespace = ""
        metadata = body.get("metadata")
        given = metadata if isinstance(metadata, dict) else {}
        fields = {key: value for key, value in given.items() if key not in _OF_SOURCE}
        if fields.pop("namespace", namespace) != namespace:
            fields.pop("ownerReferences", None)
        if namespace:
            fields["namespace"] = namespace
        made: Body = as_written({**body, "metadata": fields})
        return made

    def now(self) -> datetime:
        return self._now()

    def random_below(self, limit: int, /) -> int:
        return (self._chance or current_sources().chance.randrange)(limit)


def _selected(body: Body, labels: Mapping[str, str]) -> bool:
    metadata = body.get("metadata")
    own = metadata.get("labels") if isinstance(metadata, dict) else None
    actual = own if isinstance(own, dict) else {}
    return all(actual.get(key) == value for key, value in labels.items())


def _decoded(body: bytes) -> Json:
    """The first JSON value of a body, as Kyverno takes it; None for an empty body."""
    try:
        return parse_first(body.decode("utf-8", "replace"))
    except JsonError:
        return None


def _answer(status: int, body: Json) -> Body:
    """Return Kyverno's form of an answer: its object with the status, or both side by side."""
    code = Int64(status)
    if isinstance(body, dict):
        return {**body, "statusCode": code}
    return {"body": body, "statusCode": code}
