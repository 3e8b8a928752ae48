"""Hovers: the problems at a position with their reasons, the field, the function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from chartkit.addons.lsp.completion import Root
from chartkit.addons.lsp.cursor import Cursor
from chartkit.addons.lsp.expressions import functions, language_at
from chartkit.addons.lsp.problems import Problem, Violation
from chartkit.catalog.coverage.standards import guidance
from chartkit.cli.explain import known_explanations
from chartkit.engine import explain
from chartkit.report.model import field_places
from chartkit.scan.why.report import rule_lines

_MOST: Final = 3


def of_place(cursor: Cursor, root: Root) -> str:
    """Return the documentation of the function, or of the field, at a place; empty for none."""
    language = language_at(cursor)
    if language is not None:
        known = functions(language).get(cursor.word.rpartition(".")[2])
        return known.documentation if known is not None else ""
    shape = root(cursor) if cursor.key else None
    field = shape.at(cursor.path) if shape is not None else None
    if field is None:
        return ""
    values = ", ".join(f"`{value}`" for value in field.values()[:20])
    parts = [f"**{cursor.key}**: {field.name}", field.doc, f"One of {values}." if values else ""]
    return "\n\n".join(filter(None, parts))


def of_problems(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield the explanations of problems in Markdown."""
    by_code = {problem.code: problem for problem in reversed(list(problems))}
    for code, problem in islice(reversed(by_code.items()), _MOST):
        if problem.violation is not None:
            yield "\n\n".join(filter(None, _violation(code, problem.violation)))
        elif (meaning := known_explanations().get(code)) is not None:
            yield f"**{code}**: {meaning.what}\n\n{meaning.why}\n\n{meaning.do}"


def _violation(code: str, violation: Violation) -> Iterator[str]:
    """Yield what a policy wants, and why it decided as it did."""
    resource, result = violation.resource, violation.result
    facts = violation.requests.facts()[result.policy_id]
    known = guidance([result.policy]).get(result.policy)
    kind = ", ".join(filter(None, (facts.action(result.rule, resource.namespace), facts.severity)))
    yield f"**{code}** ({kind})" + (f": {facts.title}" if facts.title else "")
    yield facts.description
    if known is not None and known.remediation:
        yield f"What to do: {known.remediation}"
    for place in field_places(resource, result, 1):
        if place.value is not None and place.value.line:
            yield f"`{place.field}` shows the value at {place.value}."
    if lines := "\n".join(_why(violation)):
        yield f"Why:\n\n```\n{lines}\n```"
    if known is not None and known.url:
        yield f"[{known.url}]({known.url})"


def _why(violation: Violation) -> Iterator[str]:
    """Yield the checks that decided, as `chartkit why` shows them."""
    result, context = violation.result, violation.policies.context(violation.requests)
    running = violation.requests.policies.policies
    own = [policy for policy in running if policy.policy.id == result.policy_id]
    request = context.request(violation.resource, context.admissions(own))
    for rule in explain(own, request, context.world)[0]:
        if rule.is_about(result):
            yield from rule_lines(rule.decision, request.resource)
            return
