"""The checks of `chartkit policies check`, and their report.

Metadata are complete, the description says why, there are both forms and they agree, good and bad
resources decide, every rule is seen to act. A vendored library is as its lock file has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit import addon, bundled
from chartkit.catalog.authoring.agreement import EXAMPLES, Form, decided, forms_of
from chartkit.catalog.entries import kinds_of, own_libraries, vendored
from chartkit.catalog.model import Kind
from chartkit.catalog.policy_lint.findings import rule_findings
from chartkit.documents.reader import Source, read_file
from chartkit.documents.unread import EXIT_CODE, any_unread
from chartkit.engine import RunnablePolicy
from chartkit.engine.cel.shapes import RULE_ID as MISSPELT_FIELD
from chartkit.engine.cluster_policy.generate import unmatched_in_background
from chartkit.engine.cluster_policy.policy import Policy
from chartkit.engine.kubernetes.definitions import MISSPELT_RULE, WARNING_RULE
from chartkit.errors import ChartkitError, CompileError, InputError
from chartkit.kyverno import policy_fields
from chartkit.library.policies import (
    BAD_FILE,
    CEL_FILE,
    GOOD_FILE,
    METADATA_FILE,
    PARAMETERS_FILE,
    POLICY_FILE,
    FolderPolicy,
    Parameter,
    read_policy,
    read_shared_parameters,
)
from chartkit.library.templating import covered_values
from chartkit.library.upstream import is_policy
from chartkit.model import (
    Body,
    Diagnostic,
    Explanation,
    Location,
    Severity,
    Spread,
    Track,
    mapping_at,
    unspread,
    untracked,
)
from chartkit.network.downloads.lockfile import LOCK_FILE, verify
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import diagnostic_body
from chartkit.report.text.layout import grouped
from chartkit.scan.policies import PolicySet
from chartkit.suggestions import suggestion
from chartkit.wording import counted

METADATA: Final = "CK510"
"""metadata.yaml is missing, broken or not complete; the ids up to CK520 are what `check` finds."""
DESCRIPTION: Final = "CK511"
FORMS: Final = "CK512"
MINIMUM: Final = "CK517"
REMEDIATION: Final = "CK518"
COUNTERPART: Final = "CK519"
SURVIVOR: Final = "CK521"
EQUAL_FILE: Final = "mutants.yaml"
"""The changes of a policy that no object shows, each with its form and a reason."""
_REFUSING: Final = frozenset({Kind.VALIDATE, Kind.IMAGE})
_WORD: Final = re.compile(r"[^\W_]{3,}")
_FEWEST: Final = 8
_PLACEHOLDERS: Final = ("todo", "fixme", "tbd", "lorem ipsum")


@dataclass(frozen=True, slots=True)
class MutationResult:
    """killed: the changes that examples show; equal: the changes that no object shows, with a
    reason in `mutants.yaml`; untried: the changes for which there was no time; survivors: all
    others."""

    killed: int = 0
    equal: int = 0
    untried: int = 0
    survivors: tuple[Diagnostic, ...] = ()

    @property
    def changes(self) -> int:
        """The changes that were tried, without equal ones."""
        return self.killed + len(self.survivors)

    def __add__(self, other: MutationResult) -> MutationResult:
        return MutationResult(
            self.killed + other.killed,
            self.equal + other.equal,
            self.untried + other.untried,
            (*self.survivors, *other.survivors),
        )


@dataclass(frozen=True, slots=True)
class CheckResult:
    """policies: how many were looked at; libraries: how many vendored ones were compared with
    their lock files; mutation: what examples show of changed policies, None without changes."""

    policies: int
    libraries: int
    diagnostics: tuple[Diagnostic, ...]
    mutation: MutationResult | None = None

    @property
    def failed(self) -> bool:
        """True if one of the findings is an error."""
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self.diagnostics)

    @property
    def exit_code(self) -> int:
        """The code of a command: of something that could not be read, or of an error."""
        return EXIT_CODE if any_unread(self.diagnostics) else int(self.failed)


def check_project(
    project: Path, track: Track = untracked, spread: Spread = unspread, mutates: bool = False
) -> CheckResult:
    """The findings of the built-in library, those that chartkit.yaml names, and the vendored ones;
    raises InputError. A library of policies as Kyverno reads them has nothing to look at."""
    own = [folder for folder in own_libraries(project) if any(_policy_files(folder))]
    return together(
        [
            check_path(path, track, spread, mutates)
            for path in (bundled.library_dir(), *own, *vendored(project))
        ]
    )


def check_path(
    path: Path, track: Track = untracked, spread: Spread = unspread, mutates: bool = False
) -> CheckResult:
    """Return the findings of a policy's folder, a library, or a vendored library; spread: over
    processes; mutates: whether to change policies and look which changes their examples show. Raise
    InputError where it is not one."""
    if (path / LOCK_FILE).is_file():
        return CheckResult(0, 1, tuple(verify(path)))
    if not path.is_dir():
        hint = f"name the folder of a policy ({POLICY_FILE}, {METADATA_FILE}), or of a library"
        if path.exists():
            hint += "; `chartkit policies lint` takes files"
        message = "is not a folder" if path.exists() else "no such folder"
        raise InputError(message, Location(str(path)), hint)
    paths = sorted({file.parent for file in _policy_files(path)})
    if not paths:
        hint = f"a policy is a folder with {POLICY_FILE} and {METADATA_FILE}"
        raise InputError("holds no policy in chartkit's format", Location(str(path)), hint)
    shared = shared_parameters(path)
    checked = spread(partial(_checked, shared=shared, mutates=mutates), paths)
    return together([result for _, result in zip(track(paths), checked, strict=True)])


def _checked(folder: Path, shared: Mapping[str, Parameter], mutates: bool) -> CheckResult:
    result = CheckResult(1, 0, tuple(check_policy(folder, shared)))
    # Wrong examples show nothing about changes.
    if not mutates or result.failed:
        return result
    mutation: MutationResult = addon.port("mutation", "mutate", "--mutate")(folder, shared)
    return replace(
        result, diagnostics=(*result.diagnostics, *mutation.survivors), mutation=mutation
    )


def together(results: Sequence[CheckResult]) -> CheckResult:
    """Several checks as one."""
    mutations = [result.mutation for result in results if result.mutation is not None]
    return CheckResult(
        sum(result.policies for result in results),
        sum(result.libraries for result in results),
        tuple(diagnostic for result in results for diagnostic in result.diagnostics),
        sum(mutations, MutationResult()) if mutations else None,
    )


def _policy_files(path: Path) -> Iterator[Path]:
    for name in (POLICY_FILE, CEL_FILE):
        for file in path.rglob(name):
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if not hidden and (name == POLICY_FILE or file.with_name(METADATA_FILE).is_file()):
                yield file


def shared_parameters(path: Path) -> Mapping[str, Parameter]:
    """Return the shared parameters of the library that a folder is, or is in; raises InputError."""
    for folder in (path, *list(path.resolve().parents)[:2]):
        if (folder / PARAMETERS_FILE).is_file() and not (folder / POLICY_FILE).exists():
            return read_shared_parameters(folder)
    return MappingProxyType({})


def check_policy(
    folder: Path, shared: Mapping[str, Parameter], *, with_rules: bool = False
) -> list[Diagnostic]:
    """Return the faults of one policy; shared: its library's shared parameters; with_rules: whether
    the rules of `policies lint` are asked, too."""
    try:
        policy = read_policy(folder, "", shared)
    except InputError as error:
        return [_error(METADATA, error.message, error.location, error.hint)]
    diagnostics = [*_files(policy), *covered_values(policy)]
    forms: list[list[Form]] = []
    for source in (policy.template, policy.cel):
        if source is not None:
            made, problems = _made(policy, source)
            diagnostics += problems
            forms += [made] if made else []
    if len(forms) == 2:
        actions = [_kinds(form) for form in forms]
        if actions[0] != actions[1]:
            texts = [" and ".join(kinds) or "nothing" for kinds in actions]
            message = f"is there to {texts[1]}, and its other form to {texts[0]}"
            diagnostics.append(_error(FORMS, message, Location(forms[1][0].source.file, 1)))
    diagnostics += [*_remediation(policy, forms), *_judged(policy, forms)]
    if with_rules:
        filled = PolicySet(_admitting([made[:1] for made in forms]), ())
        diagnostics += rule_findings((item.policy.resource for item in filled.policies), filled)
    # They must be other policies of the library
    counterparts: list[Diagnostic] = []
    if policy.counterpart:
        document = read_file(policy.folder / METADATA_FILE)[0]
        group = policy.folder.resolve().parent
        files = [*group.glob(f"*/{POLICY_FILE}"), *group.parent.glob(f"*/*/{POLICY_FILE}")]
        names = {file.parent.name for file in files}
        references = names | {f"{file.parent.parent.name}/{file.parent.name}" for file in files}
        for position, name in enumerate(policy.counterpart):
            location = document.locate("counterpart", position)
            if name == policy.name or name.endswith(f"/{policy.name}"):
                counterparts.append(
                    _error(COUNTERPART, "is named as its own counterpart", location)
                )
            elif name not in references:
                hint = suggestion(name, sorted(references))
                message = f"its counterpart '{name}' is not in the library"
                counterparts.append(_error(COUNTERPART, message, location, hint))
    return diagnostics + counterparts


def _judged(policy: FolderPolicy, forms: Sequence[Sequence[Form]]) -> list[Diagnostic]:
    """The findings from the examples; only misspelt names where there are some."""
    diagnostics: list[Diagnostic] = []
    for at_example in zip_longest(*forms):
        present = [form for form in at_example if form is not None]
        diagnostics += decided(policy, present)
    # Require that the background matches at every example's parameters.
    compiled = [item.policy for item in _admitting(forms) if isinstance(item.policy, Policy)]
    unmatched = [warning for policy in compiled for warning in unmatched_in_background(policy)]
    once = {diagnostic.message: diagnostic for diagnostic in unmatched}.values()
    diagnostics += [replace(diagnostic, severity=Severity.ERROR) for diagnostic in once]
    misspelt = {
        str(diagnostic.location): diagnostic
        for diagnostic in PolicySet(_admitting(forms), ()).warnings
        if diagnostic.rule_id in (MISSPELT_RULE, MISSPELT_FIELD)
    }
    if misspelt and any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics):
        return [replace(row, rule_id=FORMS, severity=Severity.ERROR) for row in misspelt.values()]
    return diagnostics + [row for row in misspelt.values() if row.rule_id == MISSPELT_RULE]


def _admitting(forms: Sequence[Sequence[Form]]) -> tuple[RunnablePolicy, ...]:
    return tuple(policy for made in forms for form in made for policy in form.admitting)


def _remediation(policy: FolderPolicy, forms: Sequence[Sequence[Form]]) -> Iterator[Diagnostic]:
    """Require a remediation of policies that refuse objects."""
    if policy.remediation or not any(_REFUSING.intersection(_kinds(form)) for form in forms):
        return
    location = Location(str(policy.folder / METADATA_FILE), 1)
    hint = "say in 'remediation' what the owner of a refused object changes"
    yield Diagnostic(REMEDIATION, Severity.WARNING, "says no remediation", location, hint)


def _files(policy: FolderPolicy) -> Iterator[Diagnostic]:
    missing = says_why(policy.title, policy.description)
    if missing:
        location = read_file(policy.folder / METADATA_FILE)[0].locate("description")
        hint = "say what goes wrong without it, then what it asks for"
        yield _error(DESCRIPTION, missing, location, hint)
    if policy.cel is None:
        hint = f"write it to {CEL_FILE}, as a kind of {policy_fields.GROUP}"
        yield _error(FORMS, "has no form in CEL", Location(str(policy.folder)), hint)
    own = policy.examples[0]
    for file, name, what in (
        (own.good, GOOD_FILE, "that it leaves alone"),
        (own.bad, BAD_FILE, "that it acts on"),
    ):
        has_objects = file is not None
        # A file that cannot be read is reported elsewhere.
        with suppress(InputError):
            has_objects = file is not None and bool(read_file(file))
        if not has_objects:
            hint = f"put some into {name}"
            yield _error(EXAMPLES, f"has no objects {what}", Location(str(policy.folder)), hint)


def _made(policy: FolderPolicy, source: Source) -> tuple[list[Form], list[Diagnostic]]:
    try:
        forms = forms_of(policy, source)
    except CompileError as error:
        return [], [
            _error(FORMS, row.message, row.location or Location(source.file), row.hint)
            for row in error.diagnostics
        ]
    except ChartkitError as error:
        location = error.location or Location("")
        where = Location(source.file, location.line, location.column)
        return [], [_error(FORMS, error.message, where, error.hint)]
    problems = list(_named(policy, source, forms))
    made = [] if problems else forms
    problems += _minimum(policy, source, forms)
    # Kyverno's warnings; advice that holds for some policies alone is left out.
    warnings = PolicySet(_admitting([forms]), ()).warnings
    warned = (row for row in warnings if row.rule_id == WARNING_RULE)
    problems += dict.fromkeys(row for row in warned if row.severity is Severity.WARNING)
    return made, problems


def _named(policy: FolderPolicy, source: Source, forms: Sequence[Form]) -> Iterator[Diagnostic]:
    """Its form must be a policy of its name, of the generation that the file is for."""
    start = Location(source.file, 1)
    bodies = [body for form in forms for body in form.bodies]
    wanted = policy_fields.GROUP if source is policy.cel else "kyverno.io"
    for body in bodies:
        group = str(body.get("apiVersion")).partition("/")[0]
        if not is_policy(body) or group != wanted:
            yield _error(FORMS, f"is not a policy of {wanted}", start)
            return
        name = mapping_at(body, "metadata").get("name")
        if name != policy.name:
            yield _error(FORMS, f"calls itself '{name}'", start, "name it as its folder is named")
            return
    if not bodies:
        yield _error(FORMS, "is empty at every example's parameters", start)


def _minimum(policy: FolderPolicy, source: Source, forms: Sequence[Form]) -> Iterator[Diagnostic]:
    """The ClusterPolicy must not need a newer Kyverno than metadata.yaml claims."""
    for body in (body for form in forms for body in form.bodies):
        if source is policy.template and body.get("kind") in ("ClusterPolicy", "Policy"):
            needed, use = policy_fields.minimum_version(body)
            if use is not None and needed > policy.minimum_kyverno:
                location = read_file(policy.folder / METADATA_FILE)[0].locate("minimumKyverno")
                message = f"claims Kyverno {policy.minimum_kyverno}, but {use.field.text} "
                hint = f'say minimumKyverno: "{needed}"'
                yield _error(MINIMUM, f"{message}came with {needed}", location, hint)
                return


def _kinds(forms: Sequence[Form]) -> list[Kind]:
    bodies: list[Body] = [body for form in forms for body in form.bodies]
    return sorted({kind for body in bodies for kind in kinds_of(body)})


def _error(
    rule: str, message: str, location: Location | None, hint: str | None = None
) -> Diagnostic:
    return Diagnostic(rule, Severity.ERROR, message, location, hint)


def says_why(title: str, description: str) -> str:
    """Return the fault of a description, empty for a good one. Words alone do not show whether a
    text gives a reason, but a text with hardly a word beyond the title gives none."""
    lower = description.lower()
    for placeholder in _PLACEHOLDERS:
        if re.search(rf"\b{placeholder}\b", lower):
            return f"the description is not written yet ('{placeholder}')"
    new = set(_WORD.findall(lower)) - set(_WORD.findall(title.lower()))
    if len(new) < _FEWEST:
        return "the description says little more than the title, and not why"
    return ""


def _text(result: CheckResult) -> Iterator[str]:
    """Yield a line for each finding, and how much was looked at."""
    yield from map(str, grouped(result.diagnostics, severities=(Severity.NOTE,), more="-o json"))
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in result.diagnostics)
    warnings = sum(diagnostic.severity is Severity.WARNING for diagnostic in result.diagnostics)
    total = f"{counted(result.policies, 'policy', 'policies')} checked"
    if result.libraries:
        vendored = counted(result.libraries, "vendored library", "vendored libraries")
        total += f", {vendored} compared with the lock file"
    counts = f"{counted(errors, 'error', 'errors')}, {counted(warnings, 'warning', 'warnings')}"
    yield f"{total}: {counts}"
    if result.mutation is not None:
        mutation = result.mutation
        text = f"examples show {mutation.killed} of {counted(mutation.changes, 'change')}"
        if mutation.changes:
            text += f" ({100 * mutation.killed / mutation.changes:.1f} %)"
        if mutation.equal:
            text += f"; {mutation.equal} more that change nothing, with a reason in {EQUAL_FILE}"
        yield f"{text}; {mutation.untried} not tried for lack of time" if mutation.untried else text


def _changes(result: MutationResult) -> Body:
    return {
        "shown": result.killed,
        "survived": len(result.survivors),
        "equal": result.equal,
        "untried": result.untried,
    }


def report(result: CheckResult, explanations: Mapping[str, Explanation]) -> CommandReport:
    """Return the result of a check for every format; explanations: of the ids of findings."""
    return CommandReport(
        text=lambda _width: _text(result),
        value=lambda: {
            "policies": result.policies,
            "libraries": result.libraries,
            "findings": list(map(diagnostic_body, result.diagnostics)),
            **({} if result.mutation is None else {"changes": _changes(result.mutation)}),
        },
        rows="findings",
        findings=lambda: result.diagnostics,
        explanations=explanations,
    )
