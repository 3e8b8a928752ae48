"""Library policies filled in and looked through, apart from any chart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chartkit.documents.reader import Document, Source, read_file
from chartkit.errors import InputError
from chartkit.kyverno import policy_fields
from chartkit.library.forms import (
    CLEANUP,
    check_cleanup,
    checked_cel,
    cleans,
    require_name,
    require_same_purpose,
)
from chartkit.library.parameters import filled_documents, helm_body, helm_cel
from chartkit.library.policies import METADATA_FILE, FolderPolicy, LibraryPolicy
from chartkit.library.upstream import UpstreamPolicy
from chartkit.model import Body, Json, Location, mapping_at

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class RenderedPolicy:
    """A policy's Helm text, and its objects with its defaults and its examples' parameters. cel:
    the Helm text of its form in CEL, None where it has none; cel_bodies: the objects of that."""

    policy: LibraryPolicy
    text: str
    bodies: tuple[Body, ...]
    cel: str | None = None
    cel_bodies: tuple[Body, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of all its rules."""
        rules = [rule for body in self.bodies for rule in body["spec"].get("rules", ())]
        return tuple(dict.fromkeys(rule["name"] for rule in rules))

    @property
    def cleans(self) -> bool:
        """True if it deletes on a schedule."""
        return any(cleans(body) for body in self.bodies)

    @property
    def cel_kind(self) -> str | None:
        """The kind of its form in CEL; None where it has no such form."""
        return str(self.cel_bodies[0]["kind"]) if self.cel_bodies else None


def read_templates(policies: Sequence[LibraryPolicy]) -> list[RenderedPolicy]:
    """The templates of policies, each filled in and looked through. Upstream policies are what
    their files say.

    Raises InputError or RenderError for a policy that is not a ClusterPolicy or whose second form
    is of no kind of policies.kyverno.io, and for one that claims to need less of Kyverno than its
    fields do.
    """
    templates: list[RenderedPolicy] = []
    for policy in policies:
        if isinstance(policy, FolderPolicy):
            if not _NAME.fullmatch(policy.name):
                hint = "use lower-case letters, digits, '-' and '.', as in a Kubernetes name"
                message = f"'{policy.name}' cannot be the name of a policy"
                raise InputError(message, Location(str(policy.folder)), hint)
            text, cel = helm_body(policy), helm_cel(policy)
            bodies = [
                [_checked(document, policy) for document in documents]
                for documents in _documents(policy, policy.template)
            ]
            legacy = tuple(body for group in bodies for body in group)
            cel_bodies: list[Body] = []
            if cel is not None and policy.cel is not None:
                for group, documents in zip(bodies, _documents(policy, policy.cel), strict=True):
                    _require_both(policy, len(group), len(documents))
                    rules = sum(len(body["spec"].get("rules", ())) for body in group)
                    checked = [checked_cel(document, policy, rules) for document in documents]
                    for body, cel_body in zip(group, checked, strict=False):
                        require_same_purpose(body, cel_body, policy, Location(policy.cel.file, 1))
                    cel_bodies += checked
            templates.append(RenderedPolicy(policy, text, legacy, cel, tuple(cel_bodies)))
        elif isinstance(policy, UpstreamPolicy):
            templates.append(RenderedPolicy(policy, policy.template.text, (policy.body,)))
    return templates


def _documents(policy: FolderPolicy, source: Source) -> list[list[Document]]:
    """Return the documents of a form with the parameters of each example."""
    cases: list[Mapping[str, Json]] = [examples.parameters for examples in policy.examples] or [{}]
    try:
        return [filled_documents(policy, source, case) for case in cases]
    except InputError as error:
        message = f"policy '{policy.name}' {error.message}"
        raise InputError(message, error.location, error.hint) from None


def _require_both(policy: FolderPolicy, legacy: int, cel: int) -> None:
    """A parameter that leaves nothing of one form leaves nothing of the other."""
    if bool(legacy) != bool(cel) or cel > 1:
        location = Location(policy.cel.file if policy.cel else "", 1)
        message = (
            f"policy '{policy.name}' has {legacy} ClusterPolicy and {cel} in CEL, at its defaults "
            "or an example's parameters"
        )
        raise InputError(message, location, "put both forms under the same `when`")


def _checked(document: Document, policy: FolderPolicy) -> Body:
    body = document.body
    location = Location(policy.template.file, 1)
    if not isinstance(body, dict) or body.get("kind") not in ("ClusterPolicy", "Policy", CLEANUP):
        hint = f"a policy of the library is a kyverno.io/v1 ClusterPolicy, or a {CLEANUP}"
        raise InputError(f"policy '{policy.name}' is not a ClusterPolicy", location, hint)
    require_name(body, policy, location)
    if cleans(body):
        check_cleanup(body, policy, location)
        return body
    rules = mapping_at(body, "spec").get("rules")
    if not isinstance(rules, list) or not all(
        (isinstance(rule, dict) and isinstance(rule.get("name"), str)) for rule in rules
    ):
        raise InputError(f"policy '{policy.name}' has no rules, or one without a name", location)
    check_minimum(policy, body)
    return body


def check_minimum(policy: FolderPolicy, body: Body) -> None:
    """Raises InputError where a policy's fields are younger than the Kyverno that it claims."""
    computed, use = policy_fields.minimum_version(body)
    if use is None or computed <= policy.minimum_kyverno:
        return
    location = read_file(policy.folder / METADATA_FILE)[0].locate("minimumKyverno")
    message = (
        f"policy '{policy.name}' claims Kyverno {policy.minimum_kyverno}, but spec."
        f"{use.field.text} came with {use.field.since}"
    )
    raise InputError(message, location, f'say minimumKyverno: "{computed}"')
