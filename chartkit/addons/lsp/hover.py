"""What is to be said of a place: the problems there with their reasons, the field, the function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from chartkit.addons.lsp.completion import Root
from chartkit.addons.lsp.cursor import Cursor
from chartkit.addons.lsp.expressions import documentation, functions, language_at
from chartkit.addons.lsp.problems import Problem, Violation
from chartkit.catalog.coverage.standards import guidance
from chartkit.cli.explain import known_explanations
from chartkit.engine import explain
from chartkit.report.findings import field_text
from chartkit.scan.why.report import rule_lines

_MOST: Final = 3
"""The problems of one place that are explained."""


def of_place(cursor: Cursor, root: Root) -> str:
    """Return the documentation of the function, or of the field, at a place; empty for none."""
    language = language_at(cursor)
    if language is not None:
        known = functions(language).get(cursor.word.rpartition(".")[2])
        return documentation(known) if known is not None else ""
    shape = root(cursor)
    field = shape.at(cursor.path) if shape is not None else None
    if field is None or not cursor.key:
        return ""
    values = ", ".join(f"`{value}`" for value in field.values()[:20])
    parts = [f"**{cursor.key}**: {field.name}", field.doc, f"One of {values}." if values else ""]
    return "\n\n".join(filter(None, parts))


def of_problems(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield the explanations of problems in Markdown."""
    seen = set[str]()
    for problem in problems:
        if problem.code not in seen and len(seen) < _MOST:
            seen.add(problem.code)
            violation = problem.violation
            if violation is not None:
                yield "\n\n".join(filter(None, _violation(problem, violation)))
            elif (meaning := known_explanations().get(problem.code)) is not None:
                yield f"**{problem.code}**: {meaning.what}\n\n{meaning.why}\n\n{meaning.do}"


def _violation(problem: Problem, violation: Violation) -> Iterator[str]:
    """Yield what a policy wants, and why it decided as it did."""
    resource, result = violation.resource, violation.result
    facts = violation.requests.facts().get(result.policy_id)
    known = guidance([result.policy]).get(result.policy)
    title = facts.title if facts is not None else ""
    action = facts.action(result.rule, resource.namespace) if facts is not None else ""
    kind = ", ".join(filter(None, (action, facts.severity if facts is not None else "")))
    yield f"**{problem.code}**" + (f" ({kind})" if kind else "") + (f": {title}" if title else "")
    if facts is not None:
        yield facts.description
    if known is not None and known.remediation:
        yield f"What to do: {known.remediation}"
    for pointer in result.fields[:1]:
        value = resource.location.value_of(pointer)
        if value is not None and value.line:
            text = field_text(pointer, resource.body)
            yield f"`{text}` shows the value at {value}."
    lines = list(_why(violation))
    if lines:
        yield "Why:\n\n```\n" + "\n".join(lines) + "\n```"
    if known is not None and known.url:
        yield f"[{known.url}]({known.url})"


def _why(violation: Violation) -> Iterator[str]:
    """Yield the checks that decided, as `chartkit why` shows them."""
    resource, requests = violation.resource, violation.requests
    context = violation.policies.context(requests)
    running = [
        policy
        for policy in requests.policies.policies
        if policy.policy.id == violation.result.policy_id
    ]
    request = context.request(resource, context.admissions(running))
    decisions, _ = explain(running, request, context.world)
    for rule in decisions:
        if rule.is_about(violation.result):
            yield from rule_lines(rule.decision, request.resource)
            return
