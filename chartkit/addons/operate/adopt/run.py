"""`chartkit adopt` from its options to the files of a project."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TextIO

from chartkit import bundled
from chartkit.addons.migrate.values.run import read_values
from chartkit.addons.operate.adopt.chart_values import chart_settings
from chartkit.addons.operate.adopt.cluster import read_cluster, unread_rows
from chartkit.addons.operate.adopt.engine_values import migrate_values
from chartkit.addons.operate.adopt.exceptions import FOLDER as EXCEPTIONS
from chartkit.addons.operate.adopt.exceptions import take_exceptions
from chartkit.addons.operate.adopt.files import FileReader
from chartkit.addons.operate.adopt.meaning import compare_meanings
from chartkit.addons.operate.adopt.model import EngineValues, Estate, Outcome, Row
from chartkit.addons.operate.adopt.options import DEFAULT_ENVIRONMENT, AdoptOptions
from chartkit.addons.operate.adopt.parameters import substitute
from chartkit.addons.operate.adopt.policies import PolicyInventory, take_policies
from chartkit.addons.operate.adopt.project_files import AdoptedEnvironment, AdoptedProject
from chartkit.addons.operate.adopt.trial import try_out
from chartkit.addons.operate.adopt.versions import find_versions
from chartkit.documents.unread import EXIT_CODE
from chartkit.errors import InputError
from chartkit.library.policies import read_library, vendored_libraries
from chartkit.model import Location, Resource, Track, untracked
from chartkit.network.cluster.recording import is_recording
from chartkit.output import atomic_folder
from chartkit.output.folders import path_below
from chartkit.output.transaction import write_together
from chartkit.project.project import FILE_NAME
from chartkit.scan.cluster import open_cluster
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.inputs import STDIN

_PART: Final = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_NAME: Final = re.compile(f"{_PART}(?:/{_PART})?")


@dataclass(frozen=True, slots=True)
class Adoption:
    """folder: the project's; files: their texts by path in it; rows: what became of everything
    that is in use."""

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
        _require_free(options, project.files(str))
        trial = try_out(project, estates, options.folder, track)
        for estate in estates:
            rows += [*estate.rows, *unread_rows(estate)]
    files = project.files(lambda path: os.path.relpath(path, options.folder))
    left = {row.subject for row in rows if row.outcome is Outcome.LEFT}
    rows += [row for row in trial if row.outcome is not Outcome.LEFT or row.subject not in left]
    return Adoption(options.folder, files, tuple(rows))


def write(adoption: Adoption) -> None:
    """Write the files of a project, all of them or none; raise InputError."""
    paths = {path_below(adoption.folder, name): text for name, text in adoption.files.items()}
    for path in paths:
        atomic_folder.require_inside(path, adoption.folder)
    write_together(paths)


def _require_free(options: AdoptOptions, files: dict[str, str]) -> None:
    there = [name for name in files if (options.folder / name).exists()]
    if there and not options.force and not options.dry_run:
        name = FILE_NAME if FILE_NAME in there else there[0]
        hint = "--folder names another one, --force overwrites"
        place = Location(str(options.folder / name))
        raise InputError("is there already, and is not overwritten", place, hint)


def _estates(options: AdoptOptions, stdin: TextIO, clusters: ExitStack) -> Iterator[Estate]:
    """Yield what is in use in each environment."""
    named = [each.partition("=") for each in options.environments or (DEFAULT_ENVIRONMENT,)]
    own: dict[str, list[str]] = {}
    for name, equals, path in named:
        own.setdefault(name, [])
        if equals:
            own[name].append(path)
    _require_names(own)
    _require_inputs(options, own)
    values = [EngineValues(read_values(file)) for file in options.values]
    for name, paths in own.items():
        estate = Estate(name, values=list(values))
        files = [each for each in (*options.paths, *paths) if not is_recording(Path(each))]
        FileReader(estate, stdin, options.exclude).read(files)
        for source in _clusters(options, paths):
            read_cluster(estate, clusters.enter_context(open_cluster(source)))
        yield estate


def _require_names(names: Iterable[str]) -> None:
    """Raise InputError for names that no environment or cluster can have."""
    with_clusters = {name.partition("/")[0] for name in names if "/" in name}
    for name in names:
        if not _NAME.fullmatch(name):
            hint = "use lower-case letters, digits and '-', or ENVIRONMENT/CLUSTER"
            raise InputError(f"'{name}' cannot be the name of an environment", hint=hint)
        if name in with_clusters:
            hint = "name each cluster, ENVIRONMENT/CLUSTER, or none"
            raise InputError(f"environment '{name}' has clusters besides itself", hint=hint)


def _require_inputs(options: AdoptOptions, own: dict[str, list[str]]) -> None:
    """Raise InputError for options that cannot be combined."""
    several = len(own) > 1
    paths = [*options.paths, *(path for each in own.values() for path in each)]
    if not paths and not options.cluster and not options.values:
        raise InputError("Missing argument 'PATH…'", hint="--cluster reads a live cluster")
    if not options.cluster and (options.context or options.record):
        raise InputError("--context and --record need --cluster")
    if options.eks is not None and options.kubernetes is not None:
        raise InputError("give --kubernetes or --eks, not both")
    shared = options.cluster or any(is_recording(Path(each)) for each in options.paths)
    if several and shared:
        hint = "name a recording for each: --env NAME=RECORDING"
        raise InputError("a cluster is one environment, and several are named", hint=hint)
    if several and STDIN in paths:
        raise InputError("standard input is for one environment", hint="save it to a file")
    for name, each in own.items():
        clusters = [path for path in (*each, *options.paths) if is_recording(Path(path))]
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
        rows += _add_environment(project, estate, inventory, options)
    moved = project.share()
    return project, [_with_paths(row, moved) for row in rows]


def _with_paths(row: Row, moved: Mapping[str, str]) -> Row:
    """Return a row with the paths of files where they are now."""
    named = next((name for name in moved if name in row.message), "")
    return replace(row, message=row.message.replace(named, moved[named])) if named else row


def _add_environment(
    project: AdoptedProject, estate: Estate, inventory: PolicyInventory, options: AdoptOptions
) -> list[Row]:
    """Add an environment with its files to a project; return the rows about it."""
    versions, rows = find_versions(estate, options)
    engine = migrate_values(estate, versions)
    policies = list(_policies(inventory, estate.name))
    exceptions = take_exceptions(estate, policies)
    estate.exceptions = list(exceptions.taken)
    project.texts |= engine.texts | exceptions.texts
    chart, of_chart = chart_settings(estate, {each.name for each in policies})
    project.environments.append(
        AdoptedEnvironment(
            estate.name,
            versions,
            tuple(engine.texts),
            f"{EXCEPTIONS}/{estate.file_name}" if exceptions.texts else "",
            workloads=tuple(estate.workloads),
            chart=chart,
        )
    )
    return [*rows, *engine.rows, *of_chart, *exceptions.rows]


def _policies(inventory: PolicyInventory, environment: str) -> Iterator[Resource]:
    """Yield the policies that an environment has, and their bindings."""
    for each in inventory.policies.values():
        if environment in each.variants:
            yield each.variants[environment].resource
            yield from (binding.resource for binding in each.bindings)
