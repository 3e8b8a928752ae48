"""What the editor can do about problems: fixes, suppressions and exceptions, as edits of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

from chartkit.addon import addons
from chartkit.addons.lsp.problems import Problem, Violation
from chartkit.documents.reader import Document, read_source
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.helm.template_places import TemplatePlaces
from chartkit.model import Json, Location, mapping_at, text_of
from chartkit.scan.gate.exceptions import exception_of
from chartkit.scan.gate.suppressions import ANNOTATION, Suppression
from chartkit.scan.gate.violation import written_rule

_NAMESPACE: Final = "kyverno"
"""The namespace of exceptions that are written."""
_MOST: Final = 3
"""The problems of one place that have actions."""


Edit = tuple[int, int, str]
"""Lines of a text, from 0, the second is not among them, and the text that takes their place."""


@dataclass(frozen=True, slots=True)
class Action:
    """What can be done about problems. edits: by file; creates: the files that are new; is_best:
    whether it is what there is to do first."""

    title: str
    edits: Mapping[str, Sequence[Edit]]
    problems: Sequence[Problem]
    creates: bool = False
    is_best: bool = False


def actions(problems: Sequence[Problem], file: str, everything: bool) -> Iterator[Action]:
    """Yield what can be done about problems at a place of a file. everything: whether the editor
    asks for what takes longer, too: fixes."""
    chosen = [each for each in problems if each.violation is not None][:_MOST]
    for problem in chosen if everything and "satisfy" in addons() else ():
        yield from _fix([problem], f"Fix {problem.code}")
    if everything and len(chosen) > 1 and "satisfy" in addons():
        yield from _fix(chosen, "Fix all of these")
    for problem in chosen:
        assert problem.violation is not None
        yield from _suppression(problem, problem.violation)
        yield from _exception(problem, problem.violation, file)


def _fix(problems: Sequence[Problem], title: str) -> Iterator[Action]:
    """Yield what `chartkit scan --fix` would change, if that ends the violations."""
    from chartkit.addons.satisfy.fix.command import FixRun
    from chartkit.addons.satisfy.fix.files import SourceFiles
    from chartkit.addons.satisfy.fix.model import Subject
    from chartkit.addons.satisfy.wants.rules import key_of

    violations = [each.violation for each in problems if each.violation is not None]
    first = violations[0]
    policies, requests = first.policies, first.requests
    if any(each.requests is not requests for each in violations):
        return
    places = first.resource.location.places
    root = (
        places.chart.shown if isinstance(places, TemplatePlaces) else first.resource.location.file
    )
    files = SourceFiles([str(root)], "", False)
    run = FixRun(files, requests, policies.environment, policies.context)
    subjects: list[Subject] = []
    for number, given in enumerate(requests.objects):
        found = [each for each in violations if each.resource.body is given.body]
        if found:
            rules = frozenset(key_of(each.result) for each in found)
            subjects.append(Subject(number, given, rules))
            run.solve(subjects[-1])
    batches = run.batches(subjects)
    changes = {
        str(text.path.resolve()): _edits(text.before, text.after)
        for batch in batches
        for text in batch.files
        if text.path is not None and text.before != text.after
    }
    if changes and all(subject.fixed for subject in subjects):
        yield Action(title, changes, problems, is_best=len(problems) == 1)


def _suppression(problem: Problem, violation: Violation) -> Iterator[Action]:
    """Yield the annotation that lets a finding off, for the author to give the reason."""
    places, allowed = violation.resource.location.places, violation.policies.allows_suppressions
    if not isinstance(places, Document) or violation.resource.location.path or not allowed:
        return
    from chartkit.addons.satisfy.fix.files import with_documents
    from chartkit.addons.satisfy.fix.model import NoPlaceError, changed
    from chartkit.documents.reader import read_text

    file = places.source.file
    text, rule = read_source(file), written_rule(violation.result.rule)
    item = f"- policy: {violation.result.policy}\n" + (f"  rule: {rule}\n" if rule else "")
    annotations = mapping_at(places.body, "metadata", "annotations")
    value = text_of(annotations.get(ANNOTATION))
    value += ("\n" if value and not value.endswith("\n") else "") + item + '  reason: ""\n'
    try:
        body: Json = changed(places.body, ("metadata", "annotations", ANNOTATION), value)
        number = [each.start for each in read_text(text, file)].index(places.start)
        after = with_documents(text, file, {number: body})
    except (InputError, NoPlaceError, ValueError):
        return
    edits = {str(Path(file).resolve()): _edits(text, after)}
    yield Action(f"Suppress {problem.code} with a reason", edits, [problem])


def _exception(problem: Problem, violation: Violation, file: str) -> Iterator[Action]:
    """Yield a new file with the PolicyException of a finding, for the author to give the reason."""
    resource, result = violation.resource, violation.result
    running = violation.requests.policies.policies
    policy = next((each for each in running if each.policy.id == result.policy_id), None)
    if policy is None:
        return
    known = Suppression(result.policy, result.rule, "", None, Location(file))
    body = exception_of(resource, known, policy, _NAMESPACE)
    places = resource.location.places
    folder = places.chart.shown.parent if isinstance(places, TemplatePlaces) else Path(file).parent
    if body is None or (path := folder / f"{body['metadata']['name']}.yaml").exists():
        return
    edits = {str(path.resolve()): [(0, 0, dump_yaml(body))]}
    yield Action(f"Write an exception from {problem.code}", edits, [problem], creates=True)


def _edits(before: str, after: str) -> list[Edit]:
    """Return the edits of lines that make one text of another."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        (start, end, "".join(new[first:last]))
        for tag, start, end, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]
