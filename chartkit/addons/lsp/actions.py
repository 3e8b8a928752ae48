"""Code actions: fixes, suppressions and exceptions, as edits of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path
from typing import Final

from lsprotocol.types import Position, Range, TextEdit

from chartkit.addon import addons
from chartkit.addons.lsp.judging import Problem, Violation
from chartkit.documents.reader import Document, read_source
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.helm.template_places import TemplatePlaces
from chartkit.model import Json, mapping_at, text_of
from chartkit.scan.exceptions.written import exception_of
from chartkit.scan.gate import ANNOTATION, written_rule
from chartkit.scan.gate.suppressions import Suppression

_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class Action:
    """A code action for a problem. edits: by file; creates: whether the files are new;
    is_best: whether it is what there is to do first."""

    title: str
    edits: Mapping[str, Sequence[TextEdit]]
    problem: Problem
    creates: bool = False
    is_best: bool = False


def actions(problems: Sequence[Problem], whole: bool) -> Iterator[Action]:
    """Yield the actions for problems of one place. whole: whether the editor asks for what takes
    longer, too: fixes."""
    chosen = [(item, item.violation) for item in problems if item.violation is not None][:_MOST]
    is_fixable = whole and "satisfy" in addons()
    makers = (_fix, _suppression, _exception) if is_fixable else (_suppression, _exception)
    for make, (problem, violation) in product(makers, chosen):
        yield from make(problem, violation)


def _fix(problem: Problem, violation: Violation) -> Iterator[Action]:
    """Yield the changes that `chartkit scan --fix` would make, if they end the violation."""
    from chartkit.addons.satisfy.fix import FixRun
    from chartkit.addons.satisfy.fix.files import SourceFiles
    from chartkit.addons.satisfy.fix.model import Subject
    from chartkit.addons.satisfy.wants import key_of

    policies, requests = violation.policies, violation.requests
    files = SourceFiles([str(_root(violation))], "", False)
    run = FixRun(files, requests, policies.environment, policies.context)
    bodies = [id(resource.body) for resource in requests.objects]
    number = bodies.index(id(violation.resource.body))
    rules = frozenset({key_of(violation.result)})
    subject = Subject(number, requests.objects[number], rules)
    run.solve(subject)
    texts = [text for batch in run.batches([subject]) for text in batch.files]
    changes = {
        str(text.path.resolve()): _edits(text.before, text.after)
        for text in texts
        if text.path is not None
    }
    if any(changes.values()) and subject.fixed:
        yield Action(f"Fix {problem.code}", changes, problem, is_best=True)


def _root(violation: Violation) -> Path:
    """Return the file that an object is in, or the folder of its chart."""
    location = violation.resource.location
    places = location.places
    return places.chart.shown if isinstance(places, TemplatePlaces) else Path(location.file)


def _suppression(problem: Problem, violation: Violation) -> Iterator[Action]:
    """Yield the annotation that suppresses a finding, for the author to give the reason."""
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
        number = [document.start for document in read_text(text, file)].index(places.start)
        after = with_documents(text, file, {number: body})
    except (InputError, NoPlaceError, ValueError):
        return
    edits = {str(Path(file).resolve()): _edits(text, after)}
    yield Action(f"Suppress {problem.code} with a reason", edits, problem)


def _exception(problem: Problem, violation: Violation) -> Iterator[Action]:
    """Yield a new file with the PolicyException of a finding, for the author to give the reason."""
    result, folder = violation.result, _root(violation).parent
    suppression = Suppression(result.policy, result.rule, "", None, problem.location)
    for policy in violation.requests.policies.policies:
        if policy.policy.id != result.policy_id:
            continue
        body = exception_of(violation.resource, suppression, policy, namespace="kyverno")
        if body and not (path := folder / f"{body['metadata']['name']}.yaml").exists():
            edits = {str(path.resolve()): _edits("", dump_yaml(body))}
            yield Action(f"Write an exception from {problem.code}", edits, problem, creates=True)


def _edits(before: str, after: str) -> list[TextEdit]:
    """Return the edits of lines that turn one text into another."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        TextEdit(Range(Position(start, 0), Position(end, 0)), "".join(new[first:last]))
        for tag, start, end, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]
