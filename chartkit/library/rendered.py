"""Library policies rendered by Helm, apart from any chart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chartkit.documents.reader import Document, Source, read_file, read_text
from chartkit.errors import InputError, RenderError
from chartkit.helm.render import render_chart
from chartkit.kyverno import policy_fields
from chartkit.library.forms import (
    CLEANUP,
    check_cleanup,
    checked_cel,
    cleans,
    require_name,
    require_same_purpose,
)
from chartkit.library.parameters import helm_body, helm_cel
from chartkit.library.policies import METADATA_FILE, FolderPolicy, LibraryPolicy
from chartkit.library.templating import source_documents
from chartkit.library.upstream import UpstreamPolicy
from chartkit.model import Body, Json, Location, mapping_at
from chartkit.output.write import GeneratedChart

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_PLAIN, _CEL = ".yaml", "_cel.yaml"
_SEPARATOR = "---\n"
_MARK = "# one call of the template\n"
_CHART = "apiVersion: v2\nname: bodies\nversion: 0.0.0\n"


@dataclass(frozen=True, slots=True)
class RenderedPolicy:
    """A policy's Helm text, and its objects with its defaults and its examples' parameters.

    cel: the Helm text of its form in CEL, None where it has none; cel_bodies: the objects of that.
    """

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
    """The templates of policies, each rendered and looked through; in one run of Helm. Upstream
    policies are what their files say.

    Raises InputError or RenderError for a policy that is not a ClusterPolicy or whose second form
    is of no kind of policies.kyverno.io, and for one that claims to need less of Kyverno than its
    fields do.
    """
    templates = _rendered([policy for policy in policies if isinstance(policy, FolderPolicy)])
    rendered = {template.policy.name: template for template in templates}
    return [
        RenderedPolicy(policy, policy.template.text, (policy.body,))
        if isinstance(policy, UpstreamPolicy)
        else rendered[policy.name]
        for policy in policies
    ]


def _rendered(policies: Sequence[FolderPolicy]) -> list[RenderedPolicy]:
    if not policies:
        return []
    for policy in policies:
        # The name goes into templates and file names as it stands.
        if not _NAME.fullmatch(policy.name):
            hint = "use lower-case letters, digits, '-' and '.', as in a Kubernetes name"
            message = f"'{policy.name}' cannot be the name of a policy"
            raise InputError(message, Location(str(policy.folder)), hint)
    texts = {policy.name: helm_body(policy) for policy in policies}
    cels = {policy.name: helm_cel(policy) for policy in policies}
    files = {}
    for policy in policies:
        files[f"templates/{policy.name}{_PLAIN}"] = _template(policy, texts[policy.name], _PLAIN)
        cel = cels[policy.name]
        if cel is not None:
            files[f"templates/{policy.name}{_CEL}"] = _template(policy, cel, _CEL)
    rendered = _render(files, policies)
    return [
        _read_template(policy, texts[policy.name], cels[policy.name], rendered)
        for policy in policies
    ]


def _read_template(
    policy: FolderPolicy, text: str, cel: str | None, rendered: Mapping[str, str]
) -> RenderedPolicy:
    parts = outcomes(rendered.get(f"bodies/templates/{policy.name}{_PLAIN}", ""))
    bodies = [
        [_checked(document, policy) for document in read_text(part, policy.template.file)]
        for part in parts
    ]
    plain = tuple(body for group in bodies for body in group)
    if cel is None or policy.cel is None:
        return RenderedPolicy(policy, text, plain)
    cel_bodies = []
    for group, part in zip(
        bodies, outcomes(rendered.get(f"bodies/templates/{policy.name}{_CEL}", "")), strict=True
    ):
        documents = read_text(part, policy.cel.file)
        _require_both(policy, len(group), len(documents))
        rules = sum(len(body["spec"].get("rules", ())) for body in group)
        checked = [checked_cel(document, policy, rules) for document in documents]
        for body, cel_body in zip(group, checked, strict=False):
            require_same_purpose(body, cel_body, policy, Location(policy.cel.file, 1))
        cel_bodies += checked
    return RenderedPolicy(policy, text, plain, cel, tuple(cel_bodies))


def _require_both(policy: FolderPolicy, plain: int, cel: int) -> None:
    """A parameter that leaves nothing of one form leaves nothing of the other."""
    if bool(plain) != bool(cel) or cel > 1:
        location = Location(policy.cel.file if policy.cel else "", 1)
        message = (
            f"policy '{policy.name}' has {plain} ClusterPolicy and {cel} in CEL, at its defaults "
            "or an example's parameters"
        )
        raise InputError(message, location, "put both forms under the same `when`")


def outcomes(text: str) -> list[str]:
    """Return the text of each call of a policy's template.

    Helm as a library keeps a text as it is; as a program it leaves out the first separator.
    """
    return [part.removesuffix(_SEPARATOR) for part in text.split(_MARK)[1:]]


def _render(files: Mapping[str, str], policies: Sequence[FolderPolicy]) -> Mapping[str, str]:
    chart = GeneratedChart("bodies", {"Chart.yaml": _CHART, **files}, {"values.yaml": "{}\n"})
    try:
        return render_chart(chart).texts
    except RenderError as error:
        name = Path(error.location.file).name if error.location else ""
        for policy in policies:
            for suffix, source in ((_PLAIN, policy.template), (_CEL, policy.cel)):
                if source is not None and f"{policy.name}{suffix}" == name:
                    _require_yaml(policy, source)
                    message = f"policy '{policy.name}': {error.message}"
                    raise RenderError(message, Location(source.file), error.hint) from None
        raise


def _require_yaml(policy: FolderPolicy, source: Source) -> None:
    try:
        source_documents(source.text, source.file)
    except InputError as error:
        message = f"policy '{policy.name}' {error.message}"
        raise InputError(message, error.location, error.hint) from None


def _template(policy: FolderPolicy, text: str, suffix: str) -> str:
    cases: list[Mapping[str, Json]] = [examples.parameters for examples in policy.examples] or [{}]
    return calls(policy.name + suffix, text, [{**policy.defaults, **case} for case in cases])


def calls(name: str, text: str, cases: Iterable[Body]) -> str:
    """Return a template that defines a policy's Helm text and calls it with the parameters of each
    case; `outcomes` takes apart what Helm renders of it."""
    template = f'{{{{- define "{name}" }}}}\n{text}\n{{{{- end }}}}\n'
    for parameters in cases:
        given = json.dumps(json.dumps(parameters))
        template += f'{_SEPARATOR}{_MARK}{{{{ include "{name}" '
        template += f'(dict "parameters" (fromJson {given})) }}}}\n'
    return template


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
