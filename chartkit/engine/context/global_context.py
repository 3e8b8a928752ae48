"""GlobalContextEntry (kyverno.io/v2, v2beta1, v2alpha1): data that every policy may refer to.

An entry's data comes from the user's input: the objects given, or the recorded answer to its call;
a service is called if the user allows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chartkit.engine.context.entries.api_call import call_service
from chartkit.engine.jmespath import Expression, JMESPathError, compile_expression
from chartkit.engine.kubernetes.definitions import check_schema, check_served, definition_check
from chartkit.engine.kubernetes.kinds import KYVERNO_GROUP
from chartkit.engine.ports.services import NotAllowedError
from chartkit.engine.ports.world import World
from chartkit.errors import CompileError, EvaluationError, LookupFailed, NoSource, Reraise
from chartkit.go.duration import parse_duration
from chartkit.go.json_decoder import JsonError
from chartkit.go.strconv import quote
from chartkit.model import Body, Diagnostic, Json, Resource, Severity

API_VERSIONS: Final = ("kyverno.io/v2", "kyverno.io/v2beta1", "kyverno.io/v2alpha1")
KINDS: Final = ("GlobalContextEntry",)
ENTRY_RULE: Final = "global-context-entry"
"""The id of diagnostics for what Kyverno's webhook refuses."""
_RETRY_LIMIT: Final = 3
"""The default of the definition."""


@dataclass(frozen=True, slots=True)
class GlobalContextEntry:
    """A compiled entry: of objects (group, version, plural and namespace) or of a call."""

    name: str
    resource: Body | None
    call: Body | None
    projections: Mapping[str, Expression]

    def data(self, projection: str, world: World) -> Json:
        """Return the data, or the result of one of its projections (empty: all data).

        Raises LookupFailed for a projection that is missing or fails, and where the call has no
        recorded answer and cannot be made.
        """
        held = self._held(world)
        if not projection:
            return held
        expression = self.projections.get(projection)
        if expression is None:
            raise LookupFailed(f"projection {quote(projection)} not found")
        prefix = f"failed to apply projection {quote(projection)}: "
        with Reraise(prefix, JMESPathError, LookupFailed):
            return expression.search(held)

    @property
    def tries(self) -> int:
        """Return the most attempts of its call."""
        return int((self.call or {}).get("retryLimit") or _RETRY_LIMIT)

    def _held(self, world: World) -> Json:
        if self.resource is not None:
            group, version = self.resource.get("group") or "", self.resource["version"]
            api_version = f"{group}/{version}" if group else version
            named = api_version, self.resource["resource"], self.resource.get("namespace") or ""
            return list(world.api.cluster("", "").listed(*named))
        call = self.call or {}
        method, service = call.get("method") or "GET", call.get("service")
        url = call.get("urlPath") or "" if service is None else service["url"]
        answer = world.mocks.recorded(method, url)
        if answer is None and service is not None:
            try:
                with Reraise("", (NotAllowedError, EvaluationError, JsonError), LookupFailed):
                    return call_service("globalcontext", call, world.services, self.tries).value()
            except NoSource as error:
                raise LookupFailed("no data available", hint=error.hint) from error
        if answer is None:
            raise LookupFailed("no data available", hint=f"record an answer to {method} {url}")
        if not 200 <= answer.status < 300:
            raise LookupFailed(f"HTTP {answer.status}")
        return answer.body


def is_global_context_entry(resource: Resource) -> bool:
    """Report whether an object is an entry, of any version."""
    return resource.kind in KINDS and resource.api_version.startswith(f"{KYVERNO_GROUP}/")


def read_global_context_entry(resource: Resource) -> GlobalContextEntry:
    """Compile an entry; raises CompileError with every fault that Kyverno would reject."""
    check_schema(definition_check("GlobalContextEntry"), resource)
    check_served(resource, API_VERSIONS, KINDS)
    spec: Body = resource.body["spec"]
    projections: dict[str, Expression] = {}
    faults = _faults(spec)
    for index, projection in enumerate(spec.get("projections") or ()):
        name, path = projection["name"], projection["jmesPath"]
        field = f"spec.projections[{index}]"
        if not name:
            faults.append(f"{field}.name: Required value: A projection entry requires a name")
        if name == resource.name:
            faults.append(
                f"{field}.name: Required value: A projection entry requires a name different from "
                "the global context entry name"
            )
        try:
            projections[name] = compile_expression(path)
        except JMESPathError as error:
            faults.append(f"{field}.jmesPath: Invalid value: {quote(path)}: {error}")
    if faults:
        location = resource.location
        raise CompileError(
            [Diagnostic(ENTRY_RULE, Severity.ERROR, fault, location) for fault in faults]
        )
    return GlobalContextEntry(
        resource.name, spec.get("kubernetesResource"), spec.get("apiCall"), projections
    )


def _faults(spec: Body) -> list[str]:
    listed = spec.get("kubernetesResource")
    if listed is not None:
        missing = [key for key in ("version", "resource") if not listed[key]]
        if not listed.get("group") and listed["version"] != "v1":
            missing.insert(0, "group")
        return [
            f"spec.resource.{key}: Required value: A Resource entry requires a {key}"
            for key in missing
        ]
    call = spec["apiCall"]
    faults = []
    try:
        interval = parse_duration(call.get("refreshInterval") or "10m")
    except ValueError:
        interval = 0
    if not interval:
        faults.append(
            "spec.apiCall.refreshIntervalSeconds: Required value: A Resource entry requires a "
            "refresh interval greater than 0 seconds"
        )
    if (call.get("service") is None) == (not call.get("urlPath")):
        faults.append(
            "spec.apiCall.service: Forbidden: An External API call should either have Service or "
            "URLPath"
        )
    if call.get("data") is not None and call.get("method") != "POST":
        faults.append(
            "spec.apiCall.method: Forbidden: An External API call with data should have method as "
            "POST"
        )
    return faults
