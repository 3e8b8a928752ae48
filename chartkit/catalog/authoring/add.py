"""A policy put into a profile of the project's own, with everything that this asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit import bundled
from chartkit.catalog.entries import (
    BUILT_IN,
    libraries,
    one_line,
    own_libraries,
    ranks,
    read_catalogue,
)
from chartkit.catalog.model import Entry, Kind
from chartkit.catalog.search import find, others, passed_over
from chartkit.catalog.show import needs_of
from chartkit.charts.policies.chart import read_libraries
from chartkit.documents.reader import parse_yaml, read_source
from chartkit.errors import ChartkitError, InputError
from chartkit.library.policies import Library, LibraryPolicy
from chartkit.library.profiles import (
    Profile,
    ResolvedPolicy,
    read_profile,
    resolve,
    resolve_environment,
)
from chartkit.model import Body, Location
from chartkit.output import atomic_folder
from chartkit.output.atomic_folder import write_together
from chartkit.output.yaml_edit import rewritten
from chartkit.project.environment import DEFAULT_PROFILES
from chartkit.project.project import Project, read_project
from chartkit.suggestions import suggestion

_NEW = """\
apiVersion: chartkit.dev/v1
kind: Profile
metadata:
  name: {name}
spec:
  title: {title}
  policies:
    {reference}: {{}}
"""
_FOLDER: Final = "profiles"
_SUFFIXES: Final = (".yaml", ".yml")
_UNFIT: Final = re.compile(r"[^a-z0-9]+")
_PLACEHOLDER: Final = "NAME"
_DEFAULT_LIBRARY: Final = "policies"
_PART: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DEEPEST: Final = 3


def with_policy(text: str, reference: str, file: Path) -> str:
    """A profile's text with one policy more at its end; raises InputError if it is not editable."""
    body: Body = parse_yaml(text)
    spec = body["spec"]
    policies = {**spec.get("policies", {}), reference: {}}
    wanted: Body = {**body, "spec": {**spec, "policies": policies}}
    hint = f"put it there by hand: `{reference}: {{}}` under spec.policies"
    return rewritten(text, wanted, file, hint)


def with_profile(text: str, profile: str, default: Sequence[str], file: Path) -> str:
    """chartkit.yaml's text with one profile more, the last; raises InputError where it cannot be
    edited. default: the profiles that a project has which names none."""
    body: Body = parse_yaml(text)
    profiles = [*body.get("profiles", default), profile]
    wanted = (
        {**body, "profiles": profiles} if "profiles" in body else {"profiles": profiles, **body}
    )
    return rewritten(text, wanted, file, f"put it there by hand: `- {profile}` under profiles")


def write_files(texts: Mapping[Path, str], project: Path) -> None:
    """Write files, all of them or none; raises InputError where one cannot be written, or stands
    behind a link that leads out of the project."""
    for path in texts:
        atomic_folder.require_inside(path, project)
    write_together(texts)


@dataclass(frozen=True, slots=True)
class AddResult:
    """The result of `policies add`.

    entry, policy: the policy; profile: the file that has it; written: the files that were changed
    or made, none where it was there already; there: where it stood already, None where it did
    not; without: environments whose profiles do not have it; instead_of: policies of other
    libraries that the name means as well.
    """

    entry: Entry
    policy: LibraryPolicy
    profile: Path
    written: tuple[Path, ...] = ()
    there: Location | None = None
    without: tuple[str, ...] = ()
    instead_of: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class _Target:
    """A profile file; reference: how chartkit.yaml names it; profile: as it is, None: to be
    made; is_named: whether the project has it among its profiles, or what they extend."""

    file: Path
    reference: str
    profile: Profile | None
    is_named: bool


def add(name: str, folder: Path, profile: str = "", new: bool = False) -> AddResult:
    """Add the policy of a name to a profile; nothing is written where the profile has it already.

    name: see `chartkit.catalog.search.find`; profile: a profile of the project's own, by path or
    name; empty: its first one, or a new one; new: whether a missing profile may be created. Raises
    InputError, and then nothing was written.
    """
    project = read_project(folder)
    folders = libraries(project.root)
    entries = read_catalogue(folders).entries
    rank = ranks(folders)
    entry = find(entries, name, rank)
    library = read_libraries(project)
    policy = library.find(entry.qualified)
    is_built_in = entry.library == BUILT_IN and not library.hides(entry.reference)
    reference = entry.reference if is_built_in else entry.qualified
    instead_of = tuple(others(entries, name, entry, rank))
    with atomic_folder.lock(project.root):
        target = _target(project, profile)
        if target.profile is None and profile and not new:
            names = [own.file.stem for own in _own_profiles(project)]
            hint = suggestion(profile, names) or "--new-profile makes it"
            raise InputError(f"there is no profile '{profile}' of your own", hint=hint)
        there = _standing(target, library, policy)
        if there is not None:
            without = _without(project, target)
            return AddResult(entry, policy, target.file, (), there, without, instead_of)
        profiles = project.document.body.get("profiles", DEFAULT_PROFILES)
        base = resolve([read_profile(path, project.root) for path in profiles], library)
        environments = project.environments.values()
        for resolved in (
            base,
            *(resolve_environment(own, library, project.root) for own in environments),
        ):
            resolved_policy = resolved.policies.get(policy.name)
            if resolved_policy is not None:
                _require_same(resolved_policy, policy)
        # The files to write: the profile, and chartkit.yaml where it does not name it yet.
        name = target.file.stem
        if target.profile is None:
            title = f"Policies of {name}"
            profile = _UNFIT.sub("-", name.lower())
            texts = {target.file: _NEW.format(name=profile, title=title, reference=reference)}
        else:
            texts = {target.file: with_policy(read_source(target.file), reference, target.file)}
        if not target.is_named:
            text = read_source(project.file)
            texts[project.file] = with_profile(
                text, target.reference, DEFAULT_PROFILES, project.file
            )
        write_files(texts, project.root)
    without = _without(read_project(folder), target)
    return AddResult(entry, policy, target.file, tuple(texts), None, without, instead_of)


def _target(project: Project, given: str) -> _Target:
    """The profile file to write; raises InputError for a built-in one."""
    if given and (bundled.profiles_dir() / f"{given}.yaml").is_file():
        hint = f"write a profile of your own that begins with it: extends: [{given}]"
        raise InputError(f"profile '{given}' is built in and cannot be written", hint=hint)
    own = list(_own_profiles(project))
    for target in own:
        named = target.profile is not None and given in (target.profile.name, target.file.stem)
        if not given or named or (project.root / given).resolve() == target.file.resolve():
            return target
    name = given or _UNFIT.sub("-", project.root.resolve().name.lower()).strip("-") or "ours"
    is_path = "/" in given or given.endswith(_SUFFIXES)
    path = Path(name if is_path else f"{_FOLDER}/{name}.yaml")
    if path.is_absolute() and path.is_relative_to(project.root.resolve()):
        path = path.relative_to(project.root.resolve())
    file = project.root / path
    is_inside = not path.is_absolute() and path.parts[:1] != ("..",)
    reference = f"./{path.as_posix()}" if is_inside else path.as_posix()
    there = read_profile(reference, project.root) if file.is_file() else None
    return _Target(file, reference, there, False)


def _own_profiles(project: Project) -> Iterator[_Target]:
    """The profile files that chartkit.yaml names, the project's before its environments', and the
    profiles that they extend."""
    environments = project.environments.values()
    named = [
        *project.document.body.get("profiles", DEFAULT_PROFILES),
        *(reference for environment in environments for reference in environment.profiles),
    ]
    built_in = bundled.profiles_dir().resolve()
    targets: dict[Path, _Target] = {}
    for reference in dict.fromkeys(named):
        for profile in read_profile(reference, project.root).lineage():
            if profile.file.resolve().parent != built_in:
                target = _Target(profile.file, reference, profile, True)
                targets.setdefault(profile.file.resolve(), target)
    yield from targets.values()


def _standing(target: _Target, library: Library, policy: LibraryPolicy) -> Location | None:
    """Return the place where the profile, or one that it extends, has the policy; raise InputError
    where it is switched off there, and where the profile has another one of its name."""
    if target.profile is None:
        return None
    resolved_policy = resolve([target.profile], library).policies.get(policy.name)
    if resolved_policy is None:
        return None
    _require_same(resolved_policy, policy)
    if not resolved_policy.enabled:
        hint = "take `enabled: false` out there"
        raise InputError(f"policy '{policy.name}' is switched off", resolved_policy.location, hint)
    return resolved_policy.location


def _require_same(resolved: ResolvedPolicy, policy: LibraryPolicy) -> None:
    if resolved.policy.qualified != policy.qualified:
        message = f"the chart has another policy '{policy.name}': {resolved.policy.qualified}"
        hint = f"values speak of names; take it out before {policy.qualified} comes in"
        raise InputError(message, resolved.location, hint)


def _without(project: Project, target: _Target) -> tuple[str, ...]:
    """The environments whose profiles do not include this one."""
    return tuple(
        name
        for name, environment in project.environments.items()
        if target.file.resolve()
        not in {
            profile.file.resolve()
            for reference in environment.profiles
            for profile in read_profile(reference, project.root).lineage()
        }
    )


def as_text(added: AddResult) -> str:
    """Lines for people."""
    return "".join(f"{one_line(line)}\n" for line in _lines(added))


def _lines(added: AddResult) -> Iterator[str]:
    name = added.entry.qualified
    for other in added.instead_of:
        yield passed_over(added.entry, other)
    if added.there is not None:
        yield f"{name} is in {added.profile} already: {added.there}"
    for file in added.written:
        what = f"has {name}" if file == added.profile else f"names {added.profile.name}"
        yield f"wrote {file}: it {what}"
    yield from _needs(added)
    if added.policy.counterpart:
        yield f"policies that help: {', '.join(added.policy.counterpart)}"
    if added.without:
        names = ", ".join(added.without)
        yield f"not in {names}: chartkit.yaml gives it other profiles; name {added.profile} there"
    if added.written:
        yield "next: chartkit render"


def _needs(added: AddResult) -> Iterator[str]:
    """Return the needs of the policy; a form that cannot be rendered has none that are known."""
    try:
        needs = needs_of(added.entry)
    except ChartkitError as error:
        yield f"what it needs is unknown: {error}"
        return
    for permission in needs.permissions:
        resource = f"{permission.resource}.{permission.group}".removesuffix(".")
        verbs = ", ".join(permission.verbs)
        yield f"the chart lets Kyverno's {permission.controller} {verbs} {resource} for it"
    for config_map in needs.config_maps:
        yield f"it reads the ConfigMap {config_map}: make it, or give it in values as configMaps"
    for entry in needs.global_entries:
        yield f"it reads the GlobalContextEntry {entry}: make it"
    for unknown in needs.unknown:
        yield f"look at what it needs: {unknown.message}"


_TEMPLATES: Final = Path(__file__).parent / "templates"


def write_policy(reference: str, kind: Kind, project: Path, library: Path | None = None) -> Path:
    """Write a policy's folder and return it; raises InputError, and then nothing was written.
    reference: its name, with or without folders (`ours/require-team`); library: the folder for it;
    None: the first one that chartkit.yaml names, or `policies` where it names none."""
    parts = reference.split("/")
    if len(parts) > _DEEPEST or not all(_PART.fullmatch(part) for part in parts):
        hint = "write name or folder/name: lower-case letters, digits and '-'"
        raise InputError(f"'{reference}' cannot be the name of a policy", hint=hint)
    own = own_libraries(project, library)
    if library is None:
        library = next(iter(own), project / _DEFAULT_LIBRARY)
    folder = library.joinpath(*parts)
    if folder.exists() or folder.is_symlink():
        raise InputError("is there already", Location(str(folder)), "choose another name")
    with atomic_folder.replaced(folder, project) as new:
        for template in sorted((_TEMPLATES / kind).iterdir()):
            text = template.read_text("utf-8").replace(_PLACEHOLDER, parts[-1])
            (new / template.name).write_text(text, "utf-8", newline="\n")
    return folder


def is_in_project(library: Path, project: Path) -> bool:
    """Report whether chartkit.yaml names the library that a policy's folder is in."""
    return any(library.resolve().is_relative_to(own.resolve()) for own in own_libraries(project))
