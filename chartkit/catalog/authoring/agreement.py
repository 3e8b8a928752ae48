"""Agreement of a policy's forms with its examples' files, and with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from chartkit.catalog.model import FORMS, Kind
from chartkit.documents.reader import Document, Source, read_file, resources
from chartkit.engine import NO_ATTACHMENTS, Cleaner, Operation, RunnablePolicy, World, sorted_out
from chartkit.errors import InputError
from chartkit.library.parameters import filled_documents
from chartkit.library.policies import BAD_FILE, POLICY_FILE, Examples, FolderPolicy
from chartkit.library.templating import placed, source_documents
from chartkit.model import Body, Diagnostic, Location, Resource, Severity
from chartkit.scan.policies import compile_one
from chartkit.scan.verdicts import Verdict, example_world, judge
from chartkit.schemas.json_schema import require_single_keys
from chartkit.testing.matching import differs

EXAMPLES: Final = "CK513"
DECIDES: Final = "CK514"
AGREES: Final = "CK515"
UNSEEN: Final = "CK516"
_LATER: Final = {
    Operation.UPDATE: "both must say the same of request.operation UPDATE",
    Operation.DELETE: "leave deletions out: a precondition on request.operation, and operations",
}
"""The advice about forms that do not agree about an operation."""
_JUDGING: Final = frozenset({Kind.VALIDATE, Kind.IMAGE, None})


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a policy, with the parameters of one example.

    source: the file it comes from; bodies: what it is for Kubernetes, empty where the policy has
    nothing to say at these parameters; admitting, cleaning: the same, compiled.
    """

    source: Source
    example: Examples
    bodies: tuple[Body, ...]
    admitting: tuple[RunnablePolicy, ...]
    cleaning: tuple[Cleaner, ...]

    @property
    def kind(self) -> str:
        """Its kind, as `ClusterPolicy`; its file's name where it has nothing to say."""
        return str(self.bodies[0].get("kind")) if self.bodies else self.source.file


def forms_of(policy: FolderPolicy, source: Source) -> list[Form]:
    """One form of a policy, for each of its examples; source: its template or its `cel`. Raises the
    error of what is wrong with it: InputError, RenderError or CompileError."""
    parts = [filled_documents(policy, source, example.parameters) for example in policy.examples]
    documents: Sequence[Document] = ()
    # With other texts in place of its expressions it is YAML.
    with suppress(InputError):
        documents = source_documents(source.text, source.file)
    for document in documents:
        require_single_keys(document)
    forms = []
    for example, part in zip(policy.examples, parts, strict=True):
        policies = [placed(resource.body, source) for resource in resources(part)]
        compiled = (compile_one(resource, NO_ATTACHMENTS) for resource in policies)
        admitting, cleaning = sorted_out(compiled)
        bodies = tuple(resource.body for resource in policies)
        forms.append(Form(source, example, bodies, admitting, cleaning))
    return forms


def rule_names(form: Form) -> list[str]:
    """The names of a form's rules; empty for a form without."""
    return [
        str(rule["name"])
        for body in form.bodies
        for rule in body["spec"].get("rules") or ()
        if isinstance(rule, dict) and "name" in rule
    ]


def decided(policy: FolderPolicy, forms: Sequence[Form]) -> Iterator[Diagnostic]:
    """Return the faults of one example's objects; forms: the policy's, at its parameters."""
    if not forms or not any(form.bodies for form in forms):
        return
    example = forms[0].example
    looked_at = {id(form): False for form in forms}
    acted: dict[int, set[str]] = {id(form): set() for form in forms}
    for file, bad in ((example.good, False), (example.bad, True)):
        if file is None:
            continue
        try:
            pairs = [
                (resource, example_world(resource, wants_fields=False))
                for resource in resources(read_file(file))
            ]
        except InputError as error:
            yield Diagnostic(EXAMPLES, Severity.ERROR, error.message, error.location, error.hint)
            continue
        for resource, world in pairs:
            verdicts = [judge(form.admitting, form.cleaning, resource, world) for form in forms]
            yield from _wrong(forms, verdicts, resource, bad)
            if not any(verdict.error for verdict in verdicts):
                yield from _later(forms, resource, world)
            for form, verdict in zip(forms, verdicts, strict=True):
                acted[id(form)] |= verdict.rules
                looked_at[id(form)] |= verdict.looks and not bad
    if not example.name:
        for form in forms:
            # Rules that no example of the policy's own shows, and a policy that none of its good
            # ones is about
            acting_rules = acted[id(form)]
            seen_objects = looked_at[id(form)]
            if form.bodies:
                location = Location(form.source.file, 1)
                if FORMS.get(form.kind) in _JUDGING and not seen_objects and _judges(form):
                    message = f"{form.kind} speaks of none of its good examples"
                    hint = "have an object among them that it looks at and accepts"
                    yield Diagnostic(EXAMPLES, Severity.ERROR, message, location, hint)
                for name in rule_names(form):
                    if name not in acting_rules and form.source.file.endswith(POLICY_FILE):
                        message = f"no bad example shows what rule '{name}' of {policy.name} does"
                        hint = f"put an object into {BAD_FILE} that it acts on"
                        yield Diagnostic(UNSEEN, Severity.WARNING, message, location, hint)


def _wrong(
    forms: Sequence[Form], verdicts: Sequence[Verdict], resource: Resource, bad: bool
) -> Iterator[Diagnostic]:
    which = f"{'bad' if bad else 'good'} example {resource.kind} {resource.name}"
    for form, verdict in zip(forms, verdicts, strict=True):
        if verdict.error:
            message = f"{form.kind} cannot decide about the {which}: {verdict.error}"
            yield Diagnostic(DECIDES, Severity.ERROR, message, resource.location)
        elif verdict.acts != bad:
            message = f"{form.kind} {verdict.does} the {which}"
            yield Diagnostic(DECIDES, Severity.ERROR, message, resource.location)
    if len(verdicts) > 1 and not any(verdict.error for verdict in verdicts):
        first, other = verdicts[:2]
        kinds = f"{forms[0].kind} and {forms[1].kind}"
        if first.acts != other.acts:
            message = f"{kinds} do not agree about the {which}"
            yield Diagnostic(AGREES, Severity.ERROR, message, resource.location)
            return
        # Kyverno's own labels do not count.
        is_same = first.changed == other.changed and len(first.generated) == len(other.generated)
        pairs = zip(first.generated, other.generated, strict=False)
        if not is_same or any(differs(made, wanted) for made, wanted in pairs):
            message = f"{kinds} make different objects of the {which}"
            yield Diagnostic(AGREES, Severity.ERROR, message, resource.location)


def _later(forms: Sequence[Form], resource: Resource, world: World) -> Iterator[Diagnostic]:
    """Require that both forms do the same about an example that is updated or deleted."""
    if len(forms) < 2 or any(form.cleaning for form in forms):
        return
    for operation, name in ((Operation.UPDATE, "update"), (Operation.DELETE, "deletion")):
        verdicts = [judge(form.admitting, (), resource, world, operation) for form in forms]
        if len({verdict.acts for verdict in verdicts}) > 1:
            kinds = " and ".join(form.kind for form in forms)
            message = f"{kinds} do not agree about the {name} of {resource.kind} {resource.name}"
            yield Diagnostic(AGREES, Severity.ERROR, message, resource.location, _LATER[operation])


def _judges(form: Form) -> bool:
    """Report whether the rules of a form reject at least one object and accept at least one.
    Mutating and generating rules do not count, and signatures of images are known to a registry
    only."""
    for rule in (rule for body in form.bodies for rule in body["spec"].get("rules") or ()):
        images = rule.get("verifyImages") or ()
        has_signers = any(entry.get("attestors") or entry.get("attestations") for entry in images)
        if "mutate" in rule or "generate" in rule or has_signers:
            return False
    for spec in (body["spec"] for body in form.bodies):
        denials = [rule.get("validate", {}).get("deny") for rule in spec.get("rules") or ()]
        verdicts = [validation.get("expression") for validation in spec.get("validations") or ()]
        if any(deny != {} for deny in denials) or any(text != "false" for text in verdicts):
            return True
    return False
