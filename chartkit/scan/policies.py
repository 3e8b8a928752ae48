"""Policies to scan with: from a file, a folder, a chart, or a profile (built in or a file)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import filterfalse
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from chartkit.bundled import profiles_dir
from chartkit.documents.input_files import is_there
from chartkit.documents.reader import Document, read_file, resources
from chartkit.documents.unread import UNREADABLE, is_unread, require_read
from chartkit.engine import (
    NO_ATTACHMENTS,
    PolicyAttachments,
    RunnablePolicy,
    compile_any,
    is_policy,
    misnamed,
    sorted_out,
)
from chartkit.engine.cluster_policy.policy_check.warnings import deprecations
from chartkit.engine.kubernetes.definitions import CLEANUP_RULE, POLICY_RULE
from chartkit.engine.kubernetes.kinds import UNKNOWN, CustomNames, is_binding
from chartkit.errors import CompileError, InputError
from chartkit.model import Diagnostic, Json, Location, Resource, Severity, mapping_at
from chartkit.report import PolicyFacts
from chartkit.scan import DEFAULT_PROFILE
from chartkit.scan.inputs import ChartOptions, Note, is_chart, is_definition, is_object, matching
from chartkit.suggestions import suggestion
from chartkit.wording import abridged

if TYPE_CHECKING:
    from chartkit.engine.cleanup import Cleaner

_POLICY_FILE = "policy.yaml"

Namespaces = Mapping[str, Mapping[str, str]]
Compiler: TypeAlias = Callable[[Resource, PolicyAttachments], "RunnablePolicy | Cleaner"]
_NO_NAMESPACES: Namespaces = MappingProxyType({})
_REFUSED = frozenset({POLICY_RULE, CLEANUP_RULE})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """Options that say which policies judge, and which exceptions they have. named_policies,
    exceptions: as the user wrote them, URLs among them; parameters: `NAME=VALUE`."""

    named_policies: tuple[str, ...]
    parameters: tuple[str, ...]
    policy_type: str
    exceptions: tuple[str, ...]

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies to load: a profile if none are named."""
        return self.named_policies or (DEFAULT_PROFILE,)

    def require_none_named(self, beside: str = "--env") -> None:
        """Raise InputError for options that name policies, or their form, next to another."""
        given = {
            "--policies": bool(self.named_policies),
            "--param": bool(self.parameters),
            "--policy-type": self.policy_type != "ClusterPolicy",
        }
        for name, is_given in given.items():
            if is_given:
                message = f"{name} and {beside} do not go together"
                raise InputError(message, hint="leave one of them out")


@dataclass(frozen=True, slots=True, eq=False)
class PolicySet:
    """policies: those that compile; diagnostics: why the others do not; cleanup: cleanup policies;
    notes: Helm's warnings about charts with policies; deprecations: a note for each kind that
    Kyverno will remove, with the number of policies outside profiles; of_profiles: the IDs of those
    of profiles; found: what they were compiled from, bindings and definitions of custom kinds among
    them; around: what else they were compiled with.

    Each set is equal only to itself, for results to be cached by it.
    """

    policies: tuple[RunnablePolicy, ...]
    diagnostics: tuple[Diagnostic, ...]
    cleanup: tuple[Cleaner, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    deprecations: tuple[Diagnostic, ...] = ()
    of_profiles: frozenset[str] = frozenset()
    found: tuple[Resource, ...] = ()
    around: PolicyAttachments = NO_ATTACHMENTS

    @property
    def names(self) -> CustomNames:
        """Return the names of the custom kinds that were known when they were compiled."""
        return self.around.names or UNKNOWN

    def with_names(self, names: CustomNames, note: Note) -> PolicySet:
        """Return the policies as they compile where more custom kinds are known; note: called with
        what they are then refused for, such as the scope of a kind."""
        joined = self.names.joined(names)
        if joined == self.names or not any(map(_depends_on_scopes, self.found)):
            return self
        compiled = compile_all(self.found, replace(self.around, names=joined))
        compiled = replace(
            compiled, notes=self.notes, deprecations=self.deprecations, of_profiles=self.of_profiles
        )
        earlier = {*self.diagnostics, *self.remarks}
        for diagnostic in (*compiled.diagnostics, *compiled.remarks):
            if diagnostic not in earlier:
                note(diagnostic)
        return compiled

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """Return the warnings for those who put objects before the policies: advice to authors is
        there once for all policies, and not for those of profiles. Computed on each access."""
        diagnostics: list[Diagnostic] = []
        advised: dict[tuple[str, str], list[tuple[str, Diagnostic]]] = {}
        for policy in self.policies:
            key = policy.policy.key
            for diagnostic in policy.warnings():
                if diagnostic.severity is not Severity.NOTE:
                    diagnostics.append(diagnostic)
                elif policy.policy.id not in self.of_profiles:
                    text = diagnostic.message.removeprefix(f"{key}: ")
                    advised.setdefault((diagnostic.rule_id, text), []).append((key, diagnostic))
        for (_, text), given in advised.items():
            names = abridged([key for key, _ in given], 1)
            diagnostics.append(replace(given[0][1], message=f"{names}: {text}"))
        return (*self.notes, *diagnostics, *self._idle_exceptions())

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about policies that compile: fields that no object of the kind has, and what a
        cluster refuses. Computed on each access."""
        own = (diagnostic for policy in self.policies for diagnostic in policy.warnings())
        return (*self.notes, *own, *self._idle_exceptions())

    def _idle_exceptions(self) -> Iterator[Diagnostic]:
        """Yield a warning for each exception that has no effect on a policy that it names."""
        if not self.around.cel_exceptions:
            return
        from chartkit.engine.cel_policies.exceptions import without_effect
        from chartkit.engine.cel_policies.policy import CelPolicy

        for policy in self.policies:
            if isinstance(policy.policy, CelPolicy):
                yield from without_effect(policy.policy, self.around.cel_exceptions)

    def facts(self, namespaces: Namespaces = _NO_NAMESPACES) -> Mapping[str, PolicyFacts]:
        """The facts of each policy for reports, by its ID; namespaces: the labels of each."""
        return {policy.policy.id: _facts(policy, namespaces) for policy in self.policies}


def load_policies(
    sources: Sequence[str],
    parameters: Mapping[str, Json],
    around: PolicyAttachments = NO_ATTACHMENTS,
    policy_type: str = "ClusterPolicy",
    *,
    named: Callable[[Resource], Resource] = lambda resource: resource,
    given: Iterable[Resource] = (),
) -> PolicySet:
    """Compile the policies of every source, after those that are given; raise InputError for a
    source without any. A file of a folder that cannot be read becomes a diagnostic.

    A source is a file, a folder, a chart, or a profile by its name or file. Profiles and policies
    of libraries take parameters (`name` or `policy.name`) and policy_type, their form; raise
    InputError for parameters if there are none of these. named: gives a policy the location that
    messages name.
    """
    policies = _read_among(given)
    written = list(policies)
    profiled: set[int] = set()
    notes: list[Diagnostic] = []
    are_unused = bool(parameters)
    for source in matching(sources):
        here, of_profile = read_policies(source, parameters, policy_type, notes.append)
        if not here:
            require_read(notes)
            raise InputError("holds no policy", Location(source), _profiles_hint())
        if are_unused and (of_profile or any(_is_of_library(Path(r.location.file)) for r in here)):
            are_unused = False
        here = list(map(named, here))
        policies.extend(here)
        written.extend(() if of_profile else here)
        profiled.update(id(policy) for policy in here if of_profile)
    location = Location(sources[0]) if sources else None
    if not any(map(_is_judging, policies)):
        raise InputError("holds no policy", location, _profiles_hint())
    if are_unused:
        message = f"no policy here takes the parameter '{next(iter(parameters))}'"
        hint = "profiles and policies of a library have parameters; edit other policies"
        raise InputError(message, location, hint)
    compiled = compile_all(policies, around)
    of_profiles = (
        policy.policy.id for policy in compiled.policies if id(policy.policy.resource) in profiled
    )
    return replace(
        compiled,
        diagnostics=(*filter(is_unread, notes), *compiled.diagnostics),
        notes=tuple(filterfalse(is_unread, notes)),
        deprecations=tuple(deprecations(written)),
        of_profiles=frozenset(of_profiles),
    )


def compile_one(resource: Resource, around: PolicyAttachments) -> RunnablePolicy | Cleaner:
    """Compile a policy, with the scopes of Kubernetes' own kinds. Raise CompileError."""
    complete = around if around.names is not None else replace(around, names=UNKNOWN)
    return compile_any(resource, complete)


def compile_all(
    objects: Sequence[Resource],
    around: PolicyAttachments = NO_ATTACHMENTS,
    compiler: Compiler = compile_one,
) -> PolicySet:
    """Compile each policy; one that does not compile becomes diagnostics. Bindings and definitions
    of custom kinds among the resources are applied; compiler: `compile_one`, or a cache of it."""
    compiled: list[RunnablePolicy | Cleaner] = []
    diagnostics: list[Diagnostic] = []
    if any(map(is_binding, objects)):
        from chartkit.engine.cel_policies.admission import unbound_faults

        diagnostics += unbound_faults(objects)
    given = around
    # The names of custom kinds: those too that are defined among the objects.
    names, defined = around.names or UNKNOWN, list(filter(is_definition, objects))
    if defined:
        from chartkit.scan.custom_resources.definitions import read_definitions

        names = names.joined(read_definitions(defined).names)
    around = replace(around.with_bindings(objects), names=names)
    for resource in filter(is_policy, objects):
        try:
            compiled.append(compiler(resource, around))
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
    policies, cleaners = sorted_out(compiled)
    for cleaner in cleaners:
        diagnostics.extend(cleaner.diagnostics)
    given = replace(given, names=around.names)
    return PolicySet(policies, tuple(diagnostics), cleaners, found=tuple(objects), around=given)


def read_policies(
    source: str, parameters: Mapping[str, Json], policy_type: str, note: Note
) -> tuple[list[Resource], bool]:
    """Return the policies of a source in a form, and whether it is a profile; raise InputError."""
    path = Path(source)
    if not is_there(path):
        if source not in profile_names():
            hint = suggestion(source, profile_names()) or _profiles_hint()
            raise InputError("no such file, folder or profile", Location(source), hint)
        from chartkit.library.filled import filled_profile
        from chartkit.project.settings import PolicyType

        return list(filled_profile(source, parameters, PolicyType(policy_type))), True
    if path.is_dir() and is_chart(path):
        from chartkit.scan.inputs.folders import render_inputs

        return [r for r in render_inputs(path, ChartOptions(), note) if _is_read(r)], False
    if not path.is_dir():
        if _is_of_library(path):
            return _of_folder(path.parent, parameters, policy_type), False
        documents = read_file(path)
        if any(_is_profile(document) for document in documents):
            reference = str(path) if path.is_absolute() else f"./{path}"
            from chartkit.helm import backend as helm

            # Helm starts while the profile is read.
            helm.start()
            from chartkit.charts.policies.chart import render_profile
            from chartkit.project.settings import PolicyType

            return list(render_profile(reference, parameters, PolicyType(policy_type))), True
        return _policies_of(documents), False
    from chartkit.scan.inputs.folders import is_test_file, render_inputs, unread_file, walk

    policies: list[Resource] = []
    for file in walk(path, note):
        try:
            if file.is_dir():
                policies.extend(r for r in render_inputs(file, ChartOptions(), note) if _is_read(r))
            elif _is_of_library(file):
                if file.name == _POLICY_FILE:
                    policies.extend(_of_folder(file.parent, parameters, policy_type))
            elif not is_test_file(file):
                policies.extend(_policies_of(read_file(file)))
        except UNREADABLE as error:
            note(unread_file(file, error))
    return policies, False


def _is_of_library(file: Path) -> bool:
    """Report whether a file is of a policy in chartkit's own format, or its example."""
    folder = file.parent.parent.parent if file.parent.parent.name == "cases" else file.parent
    return all((folder / name).is_file() for name in (_POLICY_FILE, "metadata.yaml"))


def _of_folder(folder: Path, parameters: Mapping[str, Json], policy_type: str) -> list[Resource]:
    """Return the policy of a folder of a library."""
    from chartkit.library.filled import filled_folder
    from chartkit.project.settings import PolicyType

    return list(filled_folder(folder, parameters, PolicyType(policy_type)))


def _is_profile(document: Document) -> bool:
    body = document.body
    own = isinstance(body, dict) and str(body.get("apiVersion")).startswith("chartkit.dev/")
    return own and body.get("kind") == "Profile"


def profile_names() -> list[str]:
    """Return the built-in profiles."""
    return sorted(path.stem for path in profiles_dir().glob("*.yaml"))


def _policies_of(documents: Iterable[Document]) -> list[Resource]:
    return _read_among(resources(document for document in documents if is_object(document)))


def _read_among(objects: Iterable[Resource]) -> list[Resource]:
    """The policies and related objects; InputError for a misspelt kind or group."""
    objects = list(objects)
    for resource in objects:
        if (error := misnamed(resource)) is not None:
            raise error
    return list(filter(_is_read, objects))


def _is_read(resource: Resource) -> bool:
    return _is_judging(resource) or is_definition(resource)


def _depends_on_scopes(resource: Resource) -> bool:
    """Report whether the scopes of kinds may decide that Kyverno refuses a policy."""
    rules = mapping_at(resource.body, "spec").get("rules")
    generates = isinstance(rules, list) and any(
        isinstance(rule, dict) and rule.get("generate") for rule in rules
    )
    return generates or resource.kind == "Policy"


def _is_judging(resource: Resource) -> bool:
    return is_policy(resource) or is_binding(resource)


def _profiles_hint() -> str:
    return f"name a file or folder with policies, or a profile: {', '.join(profile_names())}"


def _facts(compiled: RunnablePolicy, namespaces: Namespaces) -> PolicyFacts:
    annotations = compiled.policy.annotations
    return PolicyFacts(
        name=compiled.policy.key,
        action=lru_cache(maxsize=1024)(
            lambda rule, namespace: compiled.action(rule, namespace, namespaces.get(namespace))
        ),
        severity=annotations.get("policies.kyverno.io/severity", ""),
        category=annotations.get("policies.kyverno.io/category", ""),
        scored=annotations.get("policies.kyverno.io/scored") != "false",
        source=compiled.source,
        title=annotations.get("policies.kyverno.io/title", ""),
        description=annotations.get("policies.kyverno.io/description", ""),
        body=compiled.policy.resource.body,
    )


def as_refusals(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield diagnostics with an error for each reason to refuse a policy that Kyverno's webhook has
    and its engine does not: for the authors of policies, who have nothing to scan."""
    for diagnostic in diagnostics:
        is_refused = diagnostic.rule_id in _REFUSED and diagnostic.severity is Severity.WARNING
        yield replace(diagnostic, severity=Severity.ERROR) if is_refused else diagnostic
