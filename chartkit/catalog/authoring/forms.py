"""A policy's forms as Kyverno gets them, at the parameters of each of its examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chartkit.charts.plan import ChartPlan
from chartkit.documents.reader import Source, read_text, resources
from chartkit.engine import NO_ATTACHMENTS, Cleaner, RunnablePolicy, sorted_out
from chartkit.errors import InputError, RenderError
from chartkit.helm.render import render_chart
from chartkit.library.parameters import helm_body, helm_cel
from chartkit.library.policy import Examples, FolderPolicy
from chartkit.library.rendered import calls, outcomes
from chartkit.library.template_places import placed
from chartkit.library.templating import source_documents
from chartkit.model import Body
from chartkit.scan.policies import compile_one
from chartkit.schemas.json_schema import require_single_keys

_CHART = "apiVersion: v2\nname: forms\nversion: 0.0.0\n"


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
    """One form of a policy, for each of its examples; source: its template or its `cel`.

    Raises the error of what is wrong with it: InputError, RenderError or CompileError.
    """
    try:
        parts = _rendered(policy, source, policy.examples)
    except RenderError as error:
        if error.location is None or not error.location.line:
            source_documents(source.text, source.file)
        raise
    _require_single_keys(source)
    return [_form(source, case, part) for case, part in zip(policy.examples, parts, strict=True)]


def default_bodies(policy: FolderPolicy, source: Source) -> list[Body]:
    """Return the objects of one form of a policy at its parameters' defaults, not compiled.

    source: its template or its `cel`. Raises InputError or RenderError.
    """
    (text,) = _rendered(policy, source, policy.examples[:1])
    return [each.body for each in resources(read_text(text, source.file))]


def _require_single_keys(source: Source) -> None:
    try:
        documents = source_documents(source.text, source.file)
    except InputError:
        return  # With other texts in place of its expressions it is YAML.
    for document in documents:
        require_single_keys(document)


def _rendered(policy: FolderPolicy, source: Source, cases: Sequence[Examples]) -> list[str]:
    """A form's text at the parameters of each of some examples."""
    text = helm_cel(policy) if source is policy.cel else helm_body(policy)
    template = calls(
        "policy", text or "", [{**policy.defaults, **each.parameters} for each in cases]
    )
    chart = ChartPlan(
        "forms", {"Chart.yaml": _CHART, "templates/policy.yaml": template}, {"values.yaml": "{}\n"}
    )
    (rendered,) = render_chart(chart).texts.values()
    return outcomes(rendered)


def _form(source: Source, example: Examples, text: str) -> Form:
    found = [placed(each.body, source) for each in resources(read_text(text, source.file))]
    admitting, cleaning = sorted_out(compile_one(each, NO_ATTACHMENTS) for each in found)
    bodies = tuple(each.body for each in found)
    return Form(source, example, bodies, admitting, cleaning)


def rule_names(form: Form) -> list[str]:
    """The names of a form's rules; empty for a form without."""
    return [
        str(rule["name"])
        for body in form.bodies
        for rule in body["spec"].get("rules") or ()
        if isinstance(rule, dict) and "name" in rule
    ]
