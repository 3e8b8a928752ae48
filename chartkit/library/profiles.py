"""Profiles: named sets of policies with their settings, and what an environment gets of them.

A profile's format is `schemas/profile.schema.json`. A later setting overrides an earlier one: the
profiles that a profile extends, in their order, then the profile itself; the next profile of the
environment; the environment's parameters; the project's policies; last the environment's policies.

`project_schema` is the JSON Schema of chartkit.yaml with the names of policies, parameters and
profiles, for editors.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from chartkit import bundled
from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError
from chartkit.library.parameters import check_for_all, check_for_policy
from chartkit.library.policies import Library, LibraryPolicy
from chartkit.model import Body, Json, Location
from chartkit.project.settings import Action, Exclusion, NamespaceAction, PolicySettings
from chartkit.schemas import json_schema
from chartkit.suggestions import suggestion

if TYPE_CHECKING:
    from chartkit.project.environment import Environment
    from chartkit.project.project import Project


SCHEMA = "profile.schema.json"
_SUFFIXES = (".yaml", ".yml")
_ADD_HINT = "say `enabled: true` to add it"


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile file; extends: the profiles it begins with, resolved, in their order."""

    name: str
    title: str
    description: str
    file: Path
    extends: tuple[Profile, ...]
    document: Document = field(repr=False, compare=False)

    @property
    def spec(self) -> Body:
        """The value of `spec`."""
        spec: Body = self.document.body["spec"]
        return spec

    def lineage(self) -> Iterator[Profile]:
        """Yield the profile, and those that it extends, directly or not."""
        yield self
        for parent in self.extends:
            yield from parent.lineage()


@dataclass(frozen=True, slots=True)
class ResolvedPolicy:
    """A policy as an environment gets it.

    action: None where it follows the environment's, or keeps its own; action_at: the place where
    it is given; actions: those of namespaces; parameters: what was given for this policy; exclude:
    what it leaves alone in addition to what all leave alone; location: the last word on it.
    """

    policy: LibraryPolicy
    enabled: bool
    location: Location
    action: Action | None = None
    action_at: Location | None = None
    actions: tuple[NamespaceAction, ...] = ()
    parameters: Mapping[str, Json] = field(default_factory=dict)
    exclude: tuple[Exclusion, ...] = ()


class Selection(NamedTuple):
    """The policies and parameters of profiles and an environment together.

    profiles: names of the profiles asked for; policies: by name; parameters: those for every
    policy that has them, by name; exclude, actions: for every policy.
    """

    profiles: tuple[str, ...]
    policies: Mapping[str, ResolvedPolicy]
    parameters: Mapping[str, Json]
    exclude: tuple[Exclusion, ...] = ()
    actions: tuple[NamespaceAction, ...] = ()


def read_profile(reference: str, folder: Path, location: Location | None = None) -> Profile:
    """A built-in profile by name, or a profile file by its path from folder; with what it extends.
    location: who asks for it. Raises InputError, also for a profile that extends itself."""
    return _read(reference, folder, location, ())


def resolve(profiles: Sequence[Profile], library: Library) -> Selection:
    """Return the profiles merged, the last one's settings first; raise InputError."""
    resolved = Selection(tuple(profile.name for profile in profiles), {}, {})
    for profile in profiles:
        resolved = _with_profile(resolved, profile, library)
    return resolved


def resolve_project(project: Project, library: Library) -> Selection:
    """Resolve the project's own profiles, policies and exclusions; raises InputError. A policy that
    only an environment has is not in it."""
    from chartkit.project.environment import DEFAULT_PROFILES

    references = project.document.body.get("profiles", DEFAULT_PROFILES)
    profiles = [
        read_profile(reference, project.root, project.locate("profiles", index))
        for index, reference in enumerate(references)
    ]
    resolved = _with_policies(resolve(profiles, library), project.policies, library)
    return resolved._replace(exclude=project.exclude)


def resolve_environments(project: Project, library: Library) -> dict[str, Selection]:
    """Return the policies and settings of each environment, by its name. Raises InputError, also
    for settings of the project for a policy that no environment has."""
    resolved = {
        name: resolve_environment(environment, library, project.root)
        for name, environment in project.environments.items()
    }
    for reference, settings in (*project.policies.items(), *project.defaults.items()):
        if not any(
            _meant(selection, library, reference, settings.location).name in selection.policies
            for selection in resolved.values()
        ):
            message = f"policy '{reference}' is in no profile of any environment"
            raise InputError(message, settings.location, _ADD_HINT)
    return resolved


def resolve_environment(environment: Environment, library: Library, root: Path) -> Selection:
    """Return an environment's policies; root: the project's folder. Raise InputError."""
    profiles = [
        read_profile(reference, root, environment.locate("profiles", index))
        for index, reference in enumerate(environment.profiles)
    ]
    resolved = resolve(profiles, library)
    for name, value in environment.parameters.items():
        location = environment.locate("parameters", name)
        check_for_all(name, value, library, location)
    resolved = _with_parameters(resolved, environment.parameters)
    where = f"environment '{environment.name}'"
    resolved = _with_policies(resolved, environment.policies, library, where)
    return resolved._replace(exclude=environment.exclude, actions=environment.actions)


def _with_policies(
    resolved: Selection, policies: Mapping[str, PolicySettings], library: Library, where: str = ""
) -> Selection:
    """Return the same with settings of single policies. where: whose settings they are. A policy
    that is in no profile is an error in those of an environment, and left out otherwise: another
    environment may have it."""
    for reference, settings in policies.items():
        policy = _meant(resolved, library, reference, settings.location)
        for name, value in settings.parameters.items():
            check_for_policy(name, value, policy, settings.places[f"parameters.{name}"])
        if policy.name in resolved.policies or settings.enabled:
            resolved = _with_policy(resolved, policy, settings)
        elif where and not settings.everywhere:
            message = f"policy '{reference}' is in no profile of {where}"
            raise InputError(message, settings.location, _ADD_HINT)
    return resolved


def with_parameters(
    resolved: Selection, parameters: Mapping[str, Json], library: Library
) -> Selection:
    """The same with other parameter values; raises InputError. parameters: by name, for every
    policy that has it, or by policy and name (`policy.name`)."""
    general = {name: value for name, value in parameters.items() if "." not in name}
    for name, value in general.items():
        check_for_all(name, value, library, None)
    resolved = _with_parameters(resolved, general)
    for key, value in parameters.items():
        reference, _, name = key.rpartition(".")
        if reference:
            policy = _meant(resolved, library, reference, None)
            check_for_policy(name, value, policy, None)
            settings = PolicySettings(Location(reference), parameters={name: value})
            resolved = _with_policy(resolved, policy, settings)
    return resolved


def _read(
    reference: str, folder: Path, location: Location | None, chain: tuple[Path, ...]
) -> Profile:
    file = _file(reference, folder, location)
    if file.resolve() in chain:
        names = " → ".join(path.stem for path in (*chain, file))
        raise InputError(f"profile '{file.stem}' extends itself: {names}", location)
    documents = read_file(file)
    if len(documents) != 1:
        raise InputError("a profile is one YAML document", Location(str(file)))
    document = documents[0]
    if file.parent != bundled.profiles_dir():
        json_schema.require_single_keys(document)
        json_schema.require(document, json_schema.load(SCHEMA))
    spec = document.body["spec"]
    return Profile(
        name=document.body["metadata"]["name"],
        title=spec["title"],
        description=spec.get("description", ""),
        file=file,
        extends=tuple(
            _read(
                parent,
                file.parent,
                document.locate("spec", "extends", index),
                (*chain, file.resolve()),
            )
            for index, parent in enumerate(spec.get("extends", ()))
        ),
        document=document,
    )


def _file(reference: str, folder: Path, location: Location | None) -> Path:
    if "/" in reference or reference.endswith(_SUFFIXES):
        file = folder / reference
        if not file.is_file():
            raise InputError(f"there is no profile file '{reference}'", location)
        return file
    built_in = bundled.profiles_dir() / f"{reference}.yaml"
    if not built_in.is_file():
        names = sorted(path.stem for path in bundled.profiles_dir().glob("*.yaml"))
        hint = suggestion(reference, names) or (
            f"built in are {', '.join(names)}; a file of your own is named by its path"
        )
        raise InputError(f"there is no profile '{reference}'", location, hint)
    return built_in


def _with_profile(resolved: Selection, profile: Profile, library: Library) -> Selection:
    for parent in profile.extends:
        resolved = _with_profile(resolved, parent, library)
    locate = profile.document.locate
    parameters = profile.spec.get("parameters", {})
    for name, value in parameters.items():
        location = locate("spec", "parameters", name)
        check_for_all(name, value, library, location)
    resolved = _with_parameters(resolved, parameters)
    for reference, body in profile.spec.get("policies", {}).items():
        path = ("spec", "policies", reference)
        policy = _meant(resolved, library, reference, locate(*path))
        given = body.get("parameters", {})
        for name, value in given.items():
            location = locate(*path, "parameters", name)
            check_for_policy(name, value, policy, location)
        settings = PolicySettings(
            location=locate(*path),
            enabled=body.get("enabled", True),
            action=Action(body["action"]) if "action" in body else None,
            action_at=locate(*path, "action") if "action" in body else None,
            parameters=given,
        )
        resolved = _with_policy(resolved, policy, settings)
    return resolved


def _with_parameters(resolved: Selection, parameters: Mapping[str, Json]) -> Selection:
    """Values for every policy: what was said before of single policies no longer counts."""
    policies = {
        name: replace(
            policy,
            parameters={
                key: value for key, value in policy.parameters.items() if key not in parameters
            },
        )
        for name, policy in resolved.policies.items()
    }
    return resolved._replace(policies=policies, parameters={**resolved.parameters, **parameters})


def _meant(
    resolved: Selection, library: Library, reference: str, location: Location | None
) -> LibraryPolicy:
    """The policy of a reference; a name alone means first a policy that is selected already."""
    there = resolved.policies.get(reference)
    return there.policy if there else library.find(reference, location)


def require_same(first: ResolvedPolicy, policy: LibraryPolicy, location: Location) -> None:
    """Raises InputError where another policy of the name is there: values speak of names, and
    Kubernetes has one object of each."""
    if first.policy.qualified != policy.qualified:
        raise InputError(
            f"there are two policies '{policy.name}' in the chart: {policy.qualified} here",
            location,
            f"the other is {first.policy.qualified}, {first.location}; take one of them out",
        )


def _with_policy(resolved: Selection, policy: LibraryPolicy, settings: PolicySettings) -> Selection:
    before = resolved.policies.get(policy.name)
    if before is None:
        before = ResolvedPolicy(policy, True, settings.location)
    require_same(before, policy, settings.location)
    after = replace(
        before,
        location=settings.location,
        enabled=before.enabled if settings.enabled is None else settings.enabled,
        action=settings.action or before.action,
        action_at=settings.action_at or before.action_at,
        actions=before.actions + settings.actions,
        parameters={**before.parameters, **settings.parameters},
        exclude=before.exclude + settings.exclude,
    )
    policies = MappingProxyType({**resolved.policies, policy.name: after})
    return resolved._replace(policies=policies)


def project_schema(policies: Iterable[LibraryPolicy]) -> Body:
    """Return the schema, in which `policies`, `parameters` and `profiles` name what there is. Names
    of other policies and files are still right: a project may have libraries of its own."""
    schema: Body = copy.deepcopy(json_schema.load("project.schema.json"))
    definitions: Body = schema["$defs"]
    by_name = {item.name: item for item in sorted(policies, key=lambda item: item.name)}
    named = {name: {"$ref": f"#/$defs/policy-{name}"} for name in by_name}
    for holder in (schema, definitions["environment"]):
        holder["properties"]["policies"]["properties"] = named
    for name, policy in by_name.items():
        own: Body = copy.deepcopy(definitions["policy"])
        own["description"] = policy.title or policy.name
        own["properties"]["parameters"] = {
            "description": "The policy's parameters.",
            "type": "object",
            "properties": {key: dict(value.schema) for key, value in policy.parameters.items()},
            "additionalProperties": False,
        }
        definitions[f"policy-{name}"] = own
    definitions["environment"]["properties"]["parameters"]["properties"] = {
        parameter.name: dict(parameter.schema)
        for policy in by_name.values()
        for parameter in policy.parameters.values()
    }
    built_in = sorted(path.stem for path in bundled.profiles_dir().glob("*.yaml"))
    names = {"anyOf": [{"enum": built_in}, {"type": "string", "minLength": 1}]}
    definitions["profiles"]["items"] = names
    return schema
