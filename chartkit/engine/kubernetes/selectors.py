"""Label selectors as Kubernetes has them, with the wildcards that Kyverno adds to `matchLabels`,
and why labels do not fit one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from chartkit.engine.scalars.wildcard import compile_wildcard, has_wildcard
from chartkit.engine.why import MISSING, value_text
from chartkit.model import FieldPath, Json
from chartkit.safe_text import shown

Labelled = Callable[[Mapping[str, str]], bool]

_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def compile_selector(selector: LabelSelector) -> Labelled:
    """Return a test of labels; a selector that Kubernetes rejects matches nothing."""
    if any(selector_problem(LabelSelector(expressions=(part,))) for part in selector.expressions):
        return lambda _labels: False
    tests = [_label_test(key, value) for key, value in selector.labels.items()]
    tests += [_requirement_test(requirement) for requirement in selector.expressions]
    if len(tests) == 1:
        return tests[0]
    return lambda labels: all(test(labels) for test in tests)


def _label_test(key: str, value: str) -> Labelled:
    if has_wildcard(key) or has_wildcard(value):
        fits_key, fits_value = compile_wildcard(key), compile_wildcard(value)
        # Without a label that fits, Kyverno looks for the text with 0 in the wildcards' place.
        literal_key, literal_value = _zeroed(key), _zeroed(value)

        def test(labels: Mapping[str, str]) -> bool:
            if any(fits_key(name) and fits_value(text) for name, text in labels.items()):
                return True
            return labels.get(literal_key) == literal_value

        return test
    if key_problem(key) or value_problem(value):
        return lambda _labels: False
    return lambda labels: labels.get(key) == value


def _zeroed(text: str) -> str:
    return text.replace("*", "0").replace("?", "0")


def _requirement_test(requirement: Requirement) -> Labelled:
    key, values = requirement.key, frozenset(requirement.values)
    if requirement.operator == "In":
        return lambda labels: labels.get(key) in values
    if requirement.operator == "NotIn":
        return lambda labels: labels.get(key) not in values
    if requirement.operator == "Exists":
        return lambda labels: key in labels
    return lambda labels: key not in labels


def selector_parts(selector: LabelSelector | None) -> Iterator[LabelSelector]:
    """Yield a selector for each label and requirement of one, all of which must hold."""
    if selector is not None:
        for key, value in selector.labels.items():
            yield LabelSelector({key: value})
        for requirement in selector.expressions:
            yield LabelSelector(expressions=(requirement,))


def selector_text(part: LabelSelector) -> str:
    """Return a selector as text: `app=web, tier In [a, b]`."""
    texts = [f"{key}={value}" for key, value in part.labels.items()]
    return ", ".join([*texts, *map(_requirement_text, part.expressions)])


def _requirement_text(requirement: Requirement) -> str:
    values = f" [{', '.join(requirement.values)}]" if requirement.values else ""
    return f"{requirement.key} {requirement.operator}{values}"


def selector_problem(selector: LabelSelector) -> str:
    """Return Kubernetes' message about an invalid selector; empty for a valid one."""
    for key, value in sorted(selector.labels.items()):
        problem = _requirement_problem(Requirement(key, "In", (value,)))
        if problem:
            return problem
    for requirement in selector.expressions:
        if requirement.operator not in _OPERATORS:
            return f'"{requirement.operator}" is not a valid label selector operator'
        problem = _requirement_problem(requirement)
        if problem:
            return problem
    return ""


def never_fits(selector: LabelSelector, *, wildcards: bool) -> str:
    """Return why no labels can match a selector; empty where some can.

    wildcards: whether its `matchLabels` may have Kyverno's.
    """
    labels = {
        key: value
        for key, value in selector.labels.items()
        if not (wildcards and (has_wildcard(key) or has_wildcard(value)))
    }
    if problem := selector_problem(LabelSelector(labels, selector.expressions)):
        return problem
    asked: dict[str, list[Requirement]] = {key: [] for key in labels}
    for requirement in selector.expressions:
        asked.setdefault(requirement.key, []).append(requirement)
    for key, requirements in asked.items():
        tests = [_requirement_test(term) for term in requirements]
        tests += [_label_test(key, labels[key])] if key in labels else []
        values = {labels.get(key, "0"), *(value for term in requirements for value in term.values)}
        some = ({}, *({key: value} for value in (*values, "".join(sorted(values)) + "0")))
        if not any(all(test(sample) for test in tests) for sample in some):
            return f"its requirements of '{key}' contradict one another"
    return ""


def _requirement_problem(term: Requirement) -> str:
    problems = [f'key: Invalid value: "{term.key}": {text}' for text in key_problem(term.key)]
    if term.operator in ("In", "NotIn"):
        if not term.values:
            problems.append(
                "values: Invalid value: null: for 'in', 'notin' operators, "
                "values set can't be empty"
            )
    elif term.values:
        shown = "[" + ",".join(f'"{value}"' for value in sorted(term.values)) + "]"
        problems.append(
            f"values: Invalid value: {shown}: "
            "values set must be empty for exists and does not exist"
        )
    for index, value in enumerate(sorted(term.values)):
        problems += [
            f'values[{index}][{term.key}]: Invalid value: "{value}": {text}'
            for text in value_problem(value)
        ]
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""


def key_problem(key: str) -> list[str]:
    """Return the faults of a label's key, in Kubernetes' words."""
    prefix, slash, name = key.rpartition("/")
    problems = []
    if slash:
        if "/" in prefix:
            return [f"a qualified name {_NAME_RULE}{_QUALIFIED}"]
        problems += [f"prefix part {text}" for text in subdomain_problem(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > _NAME_LENGTH:
        problems.append("name part must be no more than 63 characters")
    if not _NAME.fullmatch(name):
        problems.append(f"name part {_NAME_RULE}")
    return problems


_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_QUALIFIED: Final = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"


def subdomain_problem(prefix: str) -> list[str]:
    """Return the faults of a DNS subdomain, in Kubernetes' words."""
    if not prefix:
        return ["must be non-empty"]
    problems = []
    if len(prefix) > _SUBDOMAIN_LENGTH:
        problems.append("must be no more than 253 characters")
    if not _SUBDOMAIN.fullmatch(prefix):
        problems.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )
    return problems


def value_problem(value: str) -> list[str]:
    """Return the faults of a label's value, in Kubernetes' words."""
    problems = []
    if len(value) > _NAME_LENGTH:
        problems.append("must be no more than 63 characters")
    if value and not _NAME.fullmatch(value):
        problems.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', "
            "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  "
            "or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        )
    return problems


class Requirement(NamedTuple):
    """One entry of a label selector's `matchExpressions`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A label selector as in Kubernetes: every label and every expression must match."""

    labels: Mapping[str, str] = field(default_factory=dict)
    expressions: tuple[Requirement, ...] = ()


def read_selector(body: Json) -> LabelSelector | None:
    """Read a label selector whose schema was checked; None without one."""
    if body is None:
        return None
    expressions = tuple(
        Requirement(term["key"], term["operator"], tuple(term.get("values") or ()))
        for term in body.get("matchExpressions") or ()
    )
    return LabelSelector(body.get("matchLabels") or {}, expressions)


class LabelMiss(NamedTuple):
    """A part of a selector that labels do not match.

    path: of the part below the selector; key: of the label, empty for an invalid part; value: of
    the label, MISSING for none; text: the reason in one sentence.
    """

    path: FieldPath
    key: str
    value: Json
    text: str


def label_miss(
    selector: LabelSelector, labels: Mapping[str, str], noun: str = "label"
) -> LabelMiss | None:
    """Return the first part of a selector that labels do not fit; None if they fit all.

    noun: what the labels are called.
    """
    for at, part in enumerate(selector_parts(selector)):
        if compile_selector(part)(labels):
            continue
        (key,) = (*part.labels, *(requirement.key for requirement in part.expressions))
        path: FieldPath = ("matchLabels", key)
        if part.expressions:
            path = ("matchExpressions", at - len(selector.labels))
            if problem := selector_problem(part):
                text = f"Kubernetes refuses the selector: {shown(problem)}"
                return LabelMiss(path, "", MISSING, text)
        value = labels.get(key, MISSING)
        text = f"{noun} {shown(key)} is {value_text(value)}"
        if part.expressions:
            return LabelMiss(path, key, value, f"{text}; wanted: {shown(selector_text(part))}")
        return LabelMiss(path, key, value, f"{text}, not {value_text(part.labels[key])}")
    return None
