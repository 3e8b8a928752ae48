"""The `kyverno-test.yaml` files of migrated policies: rewritten, and run in the new form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from chartkit.addons.migrate.conversion import RuleOutcome
from chartkit.addons.migrate.files.surroundings import Mention
from chartkit.addons.migrate.files.texts import FileText, MigratedObject, named_in
from chartkit.documents.reader import Document, read_file, read_text
from chartkit.engine.cluster_policy.autogen import written_name
from chartkit.engine.kubernetes.kinds import NAMESPACED, resource_name
from chartkit.errors import ChartkitError
from chartkit.model import Body, Location, Resource, mapping_at, mappings_at
from chartkit.output.yaml_edit import rewritten as edited
from chartkit.testing.inputs import plain_path
from chartkit.testing.model import Row, TestFile, Verdict
from chartkit.testing.reader import FILE_NAME, find_tests, parse_tests, read_test_file
from chartkit.testing.runner import run_test
from chartkit.testing.sources import Sources

_HIDDEN: Final = ".kyverno-test"
_STRENGTH: Final = ("skip", "pass", "warn", "error", "fail")
"""The results of rules of one policy; the last of them is the policy's."""
_VALUES: Final = "values for rules of {name}, which the new policy does not read"
_PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The test files as they are to be, and what of them is not carried along."""

    files: tuple[FileText, ...] = ()
    mentions: tuple[Mention, ...] = ()


def test_files(paths: Sequence[str]) -> list[Path]:
    """Return the test files below folders, and next to files; raise InputError."""
    files: dict[Path, Path] = {}
    for path in map(Path, paths):
        near = (path.parent / FILE_NAME, path.parent / _HIDDEN / FILE_NAME)
        beside = [file for file in near if path.is_file() and file.is_file()]
        named = find_tests(path) if path.is_dir() else beside
        files = {file.resolve(): file for file in named} | files
    return sorted(files.values())


test_files.__test__ = False  # type: ignore[attr-defined]


def objects_of_tests(paths: Iterable[Path]) -> dict[Path, list[Resource]]:
    """Return the objects of the tests of each policy file, for proofs."""
    given: dict[Path, list[Resource]] = {}
    sources = Sources()
    for path in paths:
        try:
            for test in read_test_file(path):
                objects = [
                    body for name in test.resources for body in sources.objects(test.folder / name)
                ]
                for name in test.policies:
                    given.setdefault(named_in(test.folder, name), []).extend(objects)
        except ChartkitError:
            continue  # `rewritten` names it
    return given


def rewritten(
    paths: Iterable[Path], migrated: Sequence[MigratedObject], files: Sequence[FileText]
) -> Rewritten:
    """Return the test files with the new policies in place of the legacy ones."""
    policies: dict[Path, list[MigratedObject]] = {}
    for migrated_object in migrated:
        if migrated_object.legacy.document is not None:
            place = Path(migrated_object.legacy.document.source.file).resolve()
            policies.setdefault(place, []).append(migrated_object)
    texts = {Path(file.file).resolve(): file for file in files}
    file_texts: list[FileText] = []
    mentions: list[Mention] = []
    for path in paths:
        try:
            test_file = _TestFile(path, policies, texts)
            text = test_file.text()
        except ChartkitError as error:
            where = error.location or Location(str(path))
            hint = f" ({error.hint})" if error.hint else ""
            mentions.append(Mention(where, f"the test is not rewritten: {error.message}{hint}"))
            continue
        mentions += test_file.mentions
        if text is not None:
            file_texts.append(text)
    return Rewritten(tuple(file_texts), tuple(mentions))


@dataclass(slots=True)
class _Group:
    """Results of one new policy that differ in the result and in objects alone.

    item: the first of them; index: the index of the old result; wanted: the result by object, `""`
    without objects; rules: those of the legacy policy that it takes over.
    """

    item: Body
    index: int
    rules: int
    wanted: dict[str, str] = field(default_factory=dict)


class _TestFile:
    """A test file while it is rewritten."""

    def __init__(
        self,
        path: Path,
        policies: Mapping[Path, Sequence[MigratedObject]],
        texts: Mapping[Path, FileText],
    ) -> None:
        self._path = path
        self._policies = policies
        self._texts = texts
        self.mentions: list[Mention] = []

    def text(self) -> FileText | None:
        """Return the file's new text, None where it names no policy that converts; raise
        ChartkitError for one that cannot be read."""
        documents = read_file(self._path)
        tests = parse_tests(self._path, documents)
        parts, at, changes = [], 0, False
        for document, test in zip(documents, tests, strict=True):
            source = document.source.text
            region = source[document.start : document.end]
            new = self._document(document, test, region)
            parts += [source[at : document.start], region if new is None else new]
            at, changes = document.end, changes or new is not None
        if not changes:
            return None
        before = documents[0].source.text
        return FileText(str(self._path), before, "".join([*parts, before[at:]]))

    def _document(self, document: Document, test: TestFile, region: str) -> str | None:
        named = {
            migrated_object.legacy.resource.name: migrated_object
            for name in test.policies
            for migrated_object in self._policies.get(named_in(test.folder, name), ())
            if migrated_object.documents
        }
        results = (document.body or {}).get("results") or []
        if not any(_policy(item) in named for item in results):
            return None
        self._mention_values(document, test, named)
        kept, groups = _grouped(results, named)
        self._adopt(test, document, kept, groups)
        merged = [item for group in groups for item in _merged(group)]
        body = {**document.body, "results": [*(results[index] for index in kept), *merged]}
        return edited(region, body, self._path, "")

    def _mention_values(
        self, document: Document, test: TestFile, named: Mapping[str, MigratedObject]
    ) -> None:
        given: list[tuple[Document, tuple[str, ...]]] = [(document, ("values",))]
        if test.variables:
            given = [(values, ()) for values in read_file(test.folder / test.variables)]
        for values, path in given:
            for index, entry in enumerate(mappings_at(values.body, *path, "policies")):
                name = str(entry.get("name"))
                if name in named:
                    location = values.locate(*path, "policies", index)
                    self.mentions.append(Mention(location, _VALUES.format(name=name)))

    def _adopt(
        self,
        test: TestFile,
        document: Document,
        kept: Sequence[int],
        groups: Sequence[_Group],
    ) -> None:
        """Run the test in its new form, and count a policy's result as the result of each of its
        rules."""
        items = [document.body["results"][index] for index in kept]
        items += [
            _with(group.item, wanted, [name] if name else None)
            for group in groups
            for name, wanted in group.wanted.items()
        ]
        body = {**document.body, "results": items}
        text = json.dumps(body, default=str)
        (new,) = parse_tests(self._path, read_text(text, str(self._path)))
        indexes = [*kept, *(group.index for group in groups for _ in group.wanted)]
        expectations = []
        for at, (expectation, index) in enumerate(zip(new.expectations, indexes, strict=True)):
            location = replace(document.locate("results", index), path=f"/results/{at}")
            expectations.append(replace(expectation, location=location))
        documents = {}
        for name in test.policies:
            path = test.folder / name
            file = self._texts.get(named_in(test.folder, name))
            if file is not None:
                documents[plain_path(path)] = read_text(file.after, file.file)
        sources = Sources(documents)
        done = run_test(replace(new, expectations=tuple(expectations)), "", sources)
        if done.error:
            text = f"the test is rewritten and was not run: {done.error}"
            self.mentions.append(Mention(document.location, text))
        owners = [(group, name) for group in groups for name in group.wanted]
        before: Sequence[Row] | None = None
        for row in [row for row in done.rows if row.verdict is Verdict.FAIL]:
            index = int(row.location.path.rpartition("/")[2])
            group, name = owners[index - len(kept)] if index >= len(kept) else (None, "")
            if group is not None and _may_adopt(group, row):
                group.wanted[name] = row.got
                continue
            if before is None:
                before = run_test(test, "", Sources()).rows
            passed = all(
                line.verdict is not Verdict.FAIL for line in before if line.resource == row.resource
            )
            if passed:
                text = f"the test of {row.policy} and {row.resource} fails now: {row.reason}"
                self.mentions.append(Mention(replace(row.location, path=""), text))


def _policy(item: Body) -> str:
    return str(item.get("policy") or "").rpartition("/")[2]


def _grouped(
    items: Iterable[Body], named: Mapping[str, MigratedObject]
) -> tuple[list[int], list[_Group]]:
    """Return the indexes of results that stay, and the results of new policies in groups."""
    kept: list[int] = []
    groups: dict[str, _Group] = {}
    for index, item in enumerate(items):
        migrated = named.get(_policy(item))
        replacing = [] if migrated is None else list(_replacing(migrated, item))
        taken = [] if migrated is None else [made.converted for made in _outcomes(migrated, item)]
        if not taken or not all(taken):
            kept.append(index)
        for body in replacing:
            # A result of a new policy: its name, its kind and no rule.
            new = dict(item)
            namespace, slash, _ = str(item["policy"]).rpartition("/")
            new["policy"] = f"{namespace}{slash}{body['metadata']['name']}"
            new.pop("rule", None)
            new[f"is{str(body['kind']).removeprefix(NAMESPACED)}"] = True
            rest = {key: new[key] for key in new if key not in ("result", "resources")}
            rules = (
                sum(
                    f"{body['kind']}/{body['metadata']['name']}" in outcome.replaced_by
                    for outcome in migrated.outcomes
                )
                if migrated
                else 0
            )
            group = groups.setdefault(
                json.dumps(rest, sort_keys=True, default=str), _Group(new, index, rules)
            )
            for name in item.get("resources") or [""]:
                wanted = str(item.get("result") or "")
                group.wanted[name] = max(group.wanted.get(name, wanted), wanted, key=_strength)
    return kept, list(groups.values())


def _strength(result: str) -> int:
    return _STRENGTH.index(result) if result in _STRENGTH else -1


def _outcomes(migrated: MigratedObject, item: Body) -> Iterator[RuleOutcome]:
    rule = written_name(str(item.get("rule") or ""))
    return (outcome for outcome in migrated.outcomes if not rule or outcome.rule == rule)


def _replacing(migrated: MigratedObject, item: Body) -> Iterator[Body]:
    """Yield the new policies that take over what a result is about."""
    names = {name for outcome in _outcomes(migrated, item) for name in outcome.replaced_by}
    bodies = [
        body for body in migrated.documents if f"{body['kind']}/{body['metadata']['name']}" in names
    ]
    kind = str(item.get("kind") or "").rpartition("/")[2]
    yield from [body for body in bodies if _may_be_about(body, kind)] or bodies


def _may_be_about(body: Body, kind: str) -> bool:
    """Report whether a new policy may be asked about objects of a kind."""
    rules = mappings_at(body, "spec", "matchConstraints", "resourceRules")
    named = {str(text).partition("/")[0] for rule in rules for text in rule.get("resources") or ()}
    controllers = mapping_at(body, "spec", "autogen", "podControllers").get("controllers")
    is_extended = named == {_PODS} and controllers != []
    return not kind or not named or is_extended or bool(named & {"*", resource_name(kind)})


def _merged(group: _Group) -> Iterator[Body]:
    for wanted in dict.fromkeys(group.wanted.values()):
        names = [name for name, result in group.wanted.items() if result == wanted]
        yield _with(group.item, wanted, None if names == [""] else names)


def _with(item: Body, result: str, resources: list[str] | None) -> Any:
    new = dict(item)
    new["result"] = result
    if resources is not None:
        new["resources"] = resources
    return new


def _may_adopt(group: _Group, row: Row) -> bool:
    """Report whether another rule of the same policy explains a result: it says more than one
    rule's, or it has no word for rules that pass over an object."""
    if row.wanted == row.got:
        return False  # what is made of the object is another one
    harmless = {row.wanted, row.got} <= {"pass", "skip"}
    return bool(row.got) and (harmless or (group.rules > 1 and "Want" in row.reason))
