"""Legacy objects in the form that Kyverno takes: versions and fields that it takes no longer are
replaced by what took their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from chartkit.engine import compile_any, is_exception, read_exceptions
from chartkit.engine.cleanup.policy import API_VERSIONS as CLEANUP_VERSIONS
from chartkit.engine.cluster_policy.exceptions import API_VERSIONS as EXCEPTION_VERSIONS
from chartkit.engine.cluster_policy.policy import API_VERSIONS as POLICY_VERSIONS
from chartkit.engine.cluster_policy.policy import KINDS as POLICY_KINDS
from chartkit.engine.kubernetes.kinds import CLEANUP_KINDS
from chartkit.errors import CompileError
from chartkit.model import Body, Diagnostic, Resource, list_of, mapping_at

_VERSIONS: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(POLICY_KINDS, POLICY_VERSIONS),
    **dict.fromkeys(CLEANUP_KINDS, CLEANUP_VERSIONS),
    "PolicyException": EXCEPTION_VERSIONS,
}
_EXISTING: Final = "generateExistingOnPolicyUpdate"
_NOT_SERVED: Final = "Kyverno does not serve {old}: it is read as {new}"
_OLD_FIELD: Final = "Kyverno does not take spec.{old}: {new} takes its place"


def accepted(resource: Resource) -> tuple[Resource | None, Sequence[str], Sequence[Diagnostic]]:
    """Return the form of an object that Kyverno accepts, None where it accepts the object as it is;
    what is replaced in it, a sentence each; and the reasons for which Kyverno refuses it all the
    same."""
    faults = _faults(resource)
    if not faults:
        return None, (), ()
    body, replaced = resource.body, list[str]()
    for replacement in (_version, _generate_existing, _webhook):
        body, sentences = replacement(body)
        replaced += sentences
    if not replaced:
        return None, (), faults
    current = Resource(body, resource.location)
    return current, replaced, _faults(current)


def _faults(resource: Resource) -> Sequence[Diagnostic]:
    try:
        if is_exception(resource):
            read_exceptions([resource])
        else:
            compile_any(resource)
    except CompileError as error:
        return error.diagnostics
    return ()


def _version(body: Body) -> tuple[Body, Sequence[str]]:
    """Replace a version that is not served by the newest that is."""
    old, versions = body["apiVersion"], _VERSIONS.get(str(body.get("kind")), ())
    if not versions or old in versions:
        return body, ()
    return {**body, "apiVersion": versions[0]}, [_NOT_SERVED.format(old=old, new=versions[0])]


def _generate_existing(body: Body) -> tuple[Body, Sequence[str]]:
    """Move `spec.generateExistingOnPolicyUpdate` to the rules that generate."""
    spec = mapping_at(body, "spec")
    if not isinstance(value := spec.get(_EXISTING), bool):
        return body, ()
    rules = [
        {**rule, "generate": {"generateExisting": value, **rule["generate"]}}
        if mapping_at(rule, "generate")
        else rule
        for rule in list_of(spec.get("rules"))
    ]
    kept = {key: member for key, member in spec.items() if key != _EXISTING}
    sentence = _OLD_FIELD.format(old=_EXISTING, new="generate.generateExisting of the rules")
    return {**body, "spec": {**kept, "rules": rules}}, [sentence]


def _webhook(body: Body) -> tuple[Body, Sequence[str]]:
    """Remove settings of webhooks that `spec.webhookConfiguration` has as well."""
    spec = mapping_at(body, "spec")
    webhook = mapping_at(spec, "webhookConfiguration")
    old = {
        name: newer
        for name, newer in (("webhookTimeoutSeconds", "timeoutSeconds"), ("failurePolicy",) * 2)
        if spec.get(name) is not None and webhook.get(newer) is not None
    }
    kept = {key: member for key, member in spec.items() if key not in old}
    return {**body, "spec": kept} if old else body, [
        _OLD_FIELD.format(old=name, new=f"webhookConfiguration.{newer}")
        for name, newer in old.items()
    ]
