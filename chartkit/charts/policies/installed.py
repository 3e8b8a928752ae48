"""The objects that the chart makes of a policy: their kinds and names, as its templates decide.

`_form.tpl` and `_cel.tpl` of the chart have the same rules.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.kyverno import policy_fields
from chartkit.kyverno.cel_literals import kyverno_call
from chartkit.kyverno.policy_fields import extends_to_controllers
from chartkit.kyverno.versions import Version
from chartkit.library.forms import VALIDATING
from chartkit.library.rendered import RenderedPolicy
from chartkit.library.upstream import UpstreamPolicy
from chartkit.model import Body, mapping_at, mappings_at
from chartkit.project.settings import Action, NamespaceAction, PolicyType

_CEL_FROM: Final = Version(1, 14)
"""The first Kyverno with ValidatingPolicies."""


@dataclass(frozen=True, slots=True)
class InstalledPolicy:
    """A policy of an environment as the cluster gets it.

    body: its text as a ClusterPolicy, or in the one form that it has; objects: kind and name of
    each object that Kyverno or the API server evaluates.
    """

    name: str
    body: Body
    objects: tuple[tuple[str, str], ...]

    @property
    def kinds(self) -> frozenset[str]:
        """Return the kinds of its objects."""
        return frozenset(kind for kind, _ in self.objects)


def installed(
    template: RenderedPolicy,
    form: PolicyType,
    kyverno: Version,
    action: Action,
    actions: Sequence[NamespaceAction],
) -> InstalledPolicy:
    """Return the policy as the chart installs it. form: the form of the environment's policies;
    action: of the policy; actions: by namespace."""
    name, body = template.policy.name, template.bodies[0] if template.bodies else {}
    kind = _kind(template, form, kyverno)
    objects = [(kind, name)]
    twin = form is PolicyType.BOTH and template.cel_kind == VALIDATING
    if twin or kind == template.cel_kind:
        cel = template.cel_bodies[0]
        own = [name] if twin else [name, *_variants(name, kind, action, actions)]
        rules = mappings_at(mapping_at(cel, "spec", "matchConstraints"), "resourceRules")
        # A second object is for the requests that add ephemeral containers.
        has_ephemeral = (
            cel["kind"] == VALIDATING
            and extends_to_controllers(cel)
            and "ephemeralContainers" in json.dumps(cel["spec"])
            and any("UPDATE" in (rule.get("operations") or ()) for rule in rules[:1])
        )
        names = [*own, *(f"{variant}-ephemeral" for variant in own if has_ephemeral)]
        objects = [*(objects if twin else ()), *((str(cel["kind"]), variant) for variant in names)]
    elif isinstance(template.policy, UpstreamPolicy) and kind in policy_fields.KINDS:
        objects += [(kind, variant) for variant in _variants(name, kind, action, actions)]
    return InstalledPolicy(name, body, tuple(objects))


def _kind(template: RenderedPolicy, form: PolicyType, kyverno: Version) -> str:
    own = str(template.bodies[0]["kind"]) if template.bodies else form.value
    cel = template.cel_kind
    if isinstance(template.policy, UpstreamPolicy) or cel is None:
        return own
    if form in (PolicyType.CLUSTER, PolicyType.BOTH):
        return own
    if form is PolicyType.ADMISSION:
        if cel != VALIDATING:
            return own
        if any(map(kyverno_call, template.cel_bodies)):
            return cel if kyverno >= _CEL_FROM else own
        return PolicyType.ADMISSION.value
    return cel


def _variants(
    name: str, kind: str, action: Action, actions: Sequence[NamespaceAction]
) -> tuple[str, ...]:
    """Return the names of the copies for namespaces with another action."""
    settings = policy_fields.settings().get(kind.removeprefix(policy_fields.NAMESPACED), {})
    other = next((override.action for override in actions if override.action is not action), None)
    return (f"{name}-{other.value.lower()}",) if other and "action" in settings else ()
