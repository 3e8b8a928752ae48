"""`chartkit adopt` from its options, and what a cluster has, to the files of a project and the
report."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TextIO

import click

from chartkit import bundled
from chartkit.addons.migrate.values.run import read_values
from chartkit.addons.operate.adopt.chart_values import chart_settings
from chartkit.addons.operate.adopt.engine import (
    find_versions,
    is_engine,
    migrate_values,
    release_of,
    written_document,
)
from chartkit.addons.operate.adopt.files import FileReader, sort_in
from chartkit.addons.operate.adopt.meaning import compare_meanings, substitute
from chartkit.addons.operate.adopt.model import (
    DEFAULT_ENVIRONMENT,
    AdoptOptions,
    EngineValues,
    Estate,
    Outcome,
    Piece,
    Row,
    text_of,
)
from chartkit.addons.operate.adopt.policies import take_policies
from chartkit.addons.operate.adopt.project_files import AdoptedEnvironment, AdoptedProject
from chartkit.addons.operate.adopt.trial import try_out
from chartkit.addons.operate.install.releases import manifest_objects, stored
from chartkit.documents.unread import EXIT_CODE
from chartkit.engine import NO_ATTACHMENTS, read_exceptions
from chartkit.engine.kubernetes.kinds import group_of
from chartkit.errors import CompileError, InputError
from chartkit.kyverno.versions import parse_version
from chartkit.library.policies import read_library, vendored_libraries
from chartkit.library.upstream import is_policy_name
from chartkit.model import (
    Body,
    Diagnostic,
    Location,
    Resource,
    Severity,
    Track,
    gathered,
    mapping_at,
    mappings_at,
    single_line,
    untracked,
)
from chartkit.network.cluster.client import SECRETS
from chartkit.network.cluster.reader import Reader, entry_objects, exception_objects
from chartkit.network.cluster.recording import is_recording
from chartkit.network.cluster.source import RefusedError, ReleaseError, with_query
from chartkit.output import atomic_folder
from chartkit.output.atomic_folder import path_below, write_together
from chartkit.project.project import FILE_NAME
from chartkit.report.command_report import Block, CommandReport
from chartkit.safe_text import shown
from chartkit.scan.cluster import Survey, open_cluster
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.gate import written_rule
from chartkit.scan.inputs import STDIN

_DEPLOYMENT: Final = ("apps", "Deployment")
_EXCEPTIONS: Final = "exceptions"
_PART: Final = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_NAME: Final = re.compile(f"{_PART}(?:/{_PART})?")
_COLOURS: Final = {
    Outcome.TAKEN: "green",
    Outcome.CHANGED: "yellow",
    Outcome.NOTE: "cyan",
    Outcome.LEFT: "red",
    Outcome.UNREAD: "red",
}
_SEVERITIES: Final = {
    Outcome.UNREAD: Severity.ERROR,
    Outcome.LEFT: Severity.WARNING,
    Outcome.CHANGED: Severity.NOTE,
    Outcome.NOTE: Severity.NOTE,
    Outcome.TAKEN: Severity.NOTE,
}
_WIDTH: Final = max(map(len, Outcome))


def read_cluster(estate: Estate, reader: Reader) -> None:
    """Add what is in use in a cluster to an estate; raise SourceError where it does not answer."""
    survey = estate.survey = Survey(reader, NO_ATTACHMENTS)
    for resource in (*survey.policies(), *exception_objects(reader), *entry_objects(reader)):
        sort_in(Piece(resource), estate)
    for served in reader.discovery.all:
        if (served.kind.group, served.kind.kind) == _DEPLOYMENT:
            estate.engine += filter(is_engine, reader.objects(served))
    try:
        estate.cluster_version = str(reader.source.get("/version").get("gitVersion") or "")
    except RefusedError as error:
        reader.unread["the version of Kubernetes"] = error.message
    for deployment in estate.engine[:1]:
        estate.values += _release_values(deployment, estate, reader)


def unread_rows(estate: Estate) -> Iterator[Row]:
    """Yield a row for everything of a cluster that could not be read."""
    if estate.survey is not None:
        for what, reason in estate.survey.reader.unread.items():
            hint = "read it with the rights of docs/how-to/scan-cluster-rbac.yaml"
            yield Row(Outcome.LEFT, what, f"was not read: {reason}", None, hint, estate.name)
        for note in estate.survey.diagnostics:
            yield Row(Outcome.LEFT, "PolicyException", note.message, note.location, "", estate.name)


def _release_values(deployment: Resource, estate: Estate, reader: Reader) -> Iterator[EngineValues]:
    """Yield the values of the Helm release that a Deployment is of, unless the user named some, and
    keep its objects; add a row where it cannot be read."""
    name, namespace = release_of(deployment)
    if not name:
        return
    query = {"labelSelector": f"owner=helm,name={name},status=deployed"}
    subject = f"Helm release {namespace}/{name}"
    try:
        answer = reader.source.get(with_query(SECRETS.path(namespace), query))
    except RefusedError as error:
        estate.rows += _unknown_values(subject, error.message, estate, deployment)
        return
    for secret in mappings_at(answer, "items")[:1]:
        try:
            release = stored(secret, SECRETS, subject)
        except ReleaseError:
            reason = "a recording has no Secrets" if reader.is_recorded else "its Secret is damaged"
            estate.rows += _unknown_values(subject, reason, estate, deployment)
            return
        with suppress(InputError):
            estate.release = manifest_objects(release, subject) if release["manifest"] else None
        values = mapping_at(release, "config")
        version = mapping_at(release, "chart", "metadata").get("version")
        if values and not estate.values:
            document = written_document(values, subject)
            yield EngineValues(document, parse_version(version, "Kyverno's chart"))


def _unknown_values(
    subject: str, reason: str, estate: Estate, deployment: Resource
) -> Iterator[Row]:
    if not estate.values:
        hint = "save `helm get values RELEASE -o yaml` to a file, and name it with --values"
        message = f"its values are not known: {reason}"
        yield Row(Outcome.LEFT, subject, message, deployment.location, hint, estate.name)


def take_exceptions(
    estate: Estate, policies: Sequence[Resource]
) -> tuple[dict[str, str], list[Row]]:
    """Return the exceptions of an environment by path in the project, with a row for each that
    Kyverno refuses, and for each that names a policy or a rule that is not there; the estate keeps
    those that are taken."""
    texts: dict[str, str] = {}
    rows: list[Row] = []
    taken: list[Piece] = []
    for piece in estate.exceptions:
        resource = piece.resource
        try:
            read_exceptions([resource])
        except CompileError as error:
            message, hint = f"Kyverno refuses it: {error.message}", error.hint or "correct it"
            rows.append(piece.row(Outcome.LEFT, message, hint, estate.name))
            continue
        # The path of an exception differs for each namespace, name and generation.
        group = group_of(resource).partition(".")[0]
        parts = (resource.namespace or "default", resource.name, group)
        if not all(map(is_policy_name, parts)):
            message, hint = "no file can have its name", "name it as Kubernetes names objects"
            rows.append(piece.row(Outcome.LEFT, message, hint, estate.name))
            continue
        name = f"{_EXCEPTIONS}/{estate.file_name}/{'.'.join(parts)}.yaml"
        if name in texts:
            message = "another exception has this name"
            rows.append(piece.row(Outcome.LEFT, message, "", estate.name))
            continue
        texts[name] = text_of(piece)
        taken.append(piece)
        rows.append(piece.row(Outcome.TAKEN, f"→ {name}", "", estate.name))
        # The policies and rules that an exception names and that are not there.
        spec = mapping_at(resource.body, "spec")
        named = [str(reference.get("name")) for reference in mappings_at(spec, "policyRefs")]
        there = {
            f"{form.namespace}/{form.name}".removeprefix("/"): {
                str(rule.get("name")) for rule in mappings_at(form.body, "spec", "rules")
            }
            for form in policies
        }
        missing = [policy for policy in named if policy not in there]
        for exception in mappings_at(spec, "exceptions"):
            policy = str(exception.get("policyName"))
            if policy not in there:
                missing.append(policy)
                continue
            rules = [str(rule) for rule in exception.get("ruleNames") or ()]
            missing += [
                f"{policy}/{rule}"
                for rule in rules
                if "*" not in rule and written_rule(rule) not in there[policy]
            ]
        unknown = list(dict.fromkeys(missing))
        if unknown:
            message = f"names what is not there: {', '.join(unknown)}"
            hint = "take it out, or correct it"
            rows.append(piece.row(Outcome.NOTE, message, hint, estate.name))
    estate.exceptions = taken
    return texts, rows


@dataclass(frozen=True, slots=True)
class Adoption:
    """folder: the project's; files: texts by path in it; rows: what became of what is in use."""

    folder: Path
    files: dict[str, str]
    rows: tuple[Row, ...]

    @property
    def exit_code(self) -> int:
        """2 if something could not be read, 1 if something was left behind, else 0."""
        outcomes = {row.outcome for row in self.rows}
        return EXIT_CODE if Outcome.UNREAD in outcomes else int(Outcome.LEFT in outcomes)


def adopt(
    options: AdoptOptions, stdin: TextIO, track: Callable[[str], Track] = lambda _: untracked
) -> Adoption:
    """Return the project for what is in use; write nothing but the recording of a cluster; track:
    shows the progress of what takes long, by its label.

    Raise InputError for options that cannot be combined, input that cannot be read, versions that
    nothing tells, and files of a project that are there already; SourceError where a cluster does
    not answer.
    """
    with ExitStack() as clusters:
        estates = list(_estates(options, stdin, clusters))
        project, rows = _project(estates, options, track)
        files = project.files(str)
        there = [name for name in files if (options.folder / name).exists()]
        if there and not options.force and not options.dry_run:
            name = FILE_NAME if FILE_NAME in there else there[0]
            hint = "--folder names another one, --force overwrites"
            location = Location(str(options.folder / name))
            raise InputError("is there already, and is not overwritten", location, hint)
        trial = try_out(project, estates, options.folder, track)
        for estate in estates:
            rows += [*estate.rows, *unread_rows(estate)]
    files = project.files(lambda path: Path(os.path.relpath(path, options.folder)).as_posix())
    left = {row.subject for row in rows if row.outcome is Outcome.LEFT}
    rows += [row for row in trial if row.outcome is not Outcome.LEFT or row.subject not in left]
    return Adoption(options.folder, files, tuple(rows))


def write(adoption: Adoption) -> None:
    """Write the files of a project, all of them or none; raise InputError."""
    paths = {path_below(adoption.folder, name): text for name, text in adoption.files.items()}
    for path in paths:
        atomic_folder.require_inside(path, adoption.folder)
    write_together(paths)


def _estates(options: AdoptOptions, stdin: TextIO, clusters: ExitStack) -> Iterator[Estate]:
    named = [text.partition("=") for text in options.environments or (DEFAULT_ENVIRONMENT,)]
    own: dict[str, list[str]] = {}
    for name, equals, path in named:
        own.setdefault(name, [])
        if equals:
            own[name].append(path)
    with_clusters = {name.partition("/")[0] for name in own if "/" in name}
    for name in own:
        if not _NAME.fullmatch(name):
            hint = "use lower-case letters, digits and '-', or ENVIRONMENT/CLUSTER"
            raise InputError(f"'{name}' cannot be the name of an environment", hint=hint)
        if name in with_clusters:
            hint = "name each cluster, ENVIRONMENT/CLUSTER, or none"
            raise InputError(f"environment '{name}' has clusters besides itself", hint=hint)
    _require_inputs(options, own)
    values = [EngineValues(read_values(file)) for file in options.values]
    for name, paths in own.items():
        estate = Estate(name, values=list(values))
        files = [path for path in (*options.paths, *paths) if not is_recording(Path(path))]
        FileReader(estate, stdin, options.exclude).read(files)
        for source in _clusters(options, paths):
            read_cluster(estate, clusters.enter_context(open_cluster(source)))
        yield estate


def _require_inputs(options: AdoptOptions, own: dict[str, list[str]]) -> None:
    """Raise InputError for options that cannot be combined."""
    several = len(own) > 1
    paths = [*options.paths, *(path for paths_of in own.values() for path in paths_of)]
    if not paths and not options.cluster and not options.values:
        raise InputError("Missing argument 'PATH…'", hint="--cluster reads a live cluster")
    if not options.cluster and (options.context or options.record):
        raise InputError("--context and --record need --cluster")
    if options.eks is not None and options.kubernetes is not None:
        raise InputError("give --kubernetes or --eks, not both")
    shared = options.cluster or any(is_recording(Path(path)) for path in options.paths)
    if several and shared:
        hint = "name a recording for each: --env NAME=RECORDING"
        raise InputError("a cluster is one environment, and several are named", hint=hint)
    if several and STDIN in paths:
        raise InputError("standard input is for one environment", hint="save it to a file")
    for name, listed in own.items():
        clusters = [path for path in (*listed, *options.paths) if is_recording(Path(path))]
        if len(clusters) + options.cluster > 1:
            raise InputError(f"environment '{name}' has two clusters", hint="name one for each")


def _clusters(options: AdoptOptions, own: Sequence[str]) -> Iterator[ClusterSource]:
    if options.cluster:
        yield ClusterSource(options.context, record=options.record)
    for path in (*options.paths, *own):
        if is_recording(Path(path)):
            yield ClusterSource(recording=Path(path))


def _project(
    estates: Sequence[Estate], options: AdoptOptions, track: Callable[[str], Track]
) -> tuple[AdoptedProject, list[Row]]:
    library = read_library([bundled.library_dir()], upstream=vendored_libraries(options.folder))
    inventory = take_policies(estates, lambda variants: substitute(variants, library))
    policies = list(inventory.policies.values())
    rows = [*inventory.rows, *compare_meanings(policies, library, track("comparing"))]
    project = AdoptedProject([], policies, exclude=options.exclude)
    for estate in estates:
        versions, of_engine = find_versions(estate, options)
        engine, of_values = migrate_values(estate, versions)
        in_use: list[Resource] = []
        for policy in policies:
            if estate.name in policy.variants:
                in_use.append(policy.variants[estate.name].resource)
                in_use += (binding.resource for binding in policy.bindings)
        exceptions, of_exceptions = take_exceptions(estate, in_use)
        project.texts |= engine | exceptions
        chart, of_chart = chart_settings(estate, {resource.name for resource in in_use})
        project.environments.append(
            AdoptedEnvironment(
                estate.name,
                versions,
                tuple(engine),
                f"{_EXCEPTIONS}/{estate.file_name}" if exceptions else "",
                workloads=tuple(estate.workloads),
                chart=chart,
            )
        )
        rows += [*of_engine, *of_values, *of_chart, *of_exceptions]
    moved = project.share()
    return project, [_with_paths(row, moved) for row in rows]


def _with_paths(row: Row, moved: Mapping[str, str]) -> Row:
    """Return a row with the paths of files where they are now."""
    named = next((name for name in moved if name in row.message), "")
    return replace(row, message=row.message.replace(named, moved[named])) if named else row


def report(adoption: Adoption) -> CommandReport:
    """Return the outcome for everything that is in use, for every format."""
    return CommandReport(
        text=lambda _width: _text(adoption),
        value=lambda: _value(adoption),
        rows="rows",
        findings=lambda: _findings(adoption),
    )


def _merged(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, those that several environments have as one."""
    names_by_row = gathered((replace(row, environment=""), row.environment) for row in rows)
    return [
        replace(row, environment=", ".join(dict.fromkeys(filter(None, names))))
        for row, names in names_by_row.items()
    ]


def _text(adoption: Adoption) -> Iterator[Block]:
    """Yield a line or more for each row, in the order of outcomes, and the totals."""
    rows = _merged(adoption.rows)
    for outcome in Outcome:
        for row in rows:
            if row.outcome is outcome:
                word = click.style(str(row.outcome).ljust(_WIDTH), fg=_COLOURS[row.outcome])
                where = f" in {row.environment}" if row.environment else ""
                subject, location = row.subject, row.location
                at = f"  {shown(str(location))}" if location else ""
                if location is not None and subject.endswith(location.file):
                    subject, at = subject.removesuffix(location.file) + str(location), ""
                yield f"{word}  {shown(single_line(subject))}{shown(where)}{at}"
                margin = " " * (_WIDTH + 2)
                yield f"{margin}{shown(single_line(row.message))}"
                if row.hint:
                    yield f"{margin}→ {shown(single_line(row.hint))}"
    counts = Counter(row.outcome for row in rows)
    outcomes = [outcome for outcome in Outcome if outcome is not Outcome.UNREAD or counts[outcome]]
    yield from ("", ", ".join(f"{outcome}: {counts[outcome]}" for outcome in outcomes))


def _value(adoption: Adoption) -> Body:
    """Return the rows and the files for programs."""
    rows = _merged(adoption.rows)
    counts = Counter(row.outcome for row in rows)
    return {
        "summary": {str(outcome): counts[outcome] for outcome in Outcome},
        "files": sorted(adoption.files),
        "rows": [
            {
                "outcome": str(row.outcome),
                "subject": row.subject,
                "environments": row.environment.split(", ") if row.environment else [],
                "message": row.message,
                "location": str(row.location) if row.location else None,
                "hint": row.hint or None,
            }
            for row in rows
        ],
    }


def _findings(adoption: Adoption) -> Iterator[Diagnostic]:
    for row in _merged(adoption.rows):
        where = f" in {row.environment}" if row.environment else ""
        text = f"{row.subject}{where}: {row.message}"
        severity = _SEVERITIES[row.outcome]
        yield Diagnostic(str(row.outcome), severity, text, row.location, row.hint or None)
