"""Finds policies: at a path, below a folder, in a chart, or by the name of a profile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from chartkit.bundled import profiles_dir
from chartkit.documents import Document, read_file, resources
from chartkit.engine.cleanup import CleanupPolicy, read_cleanup_policy
from chartkit.engine.cleanup.policy import KINDS as CLEANUP_KINDS
from chartkit.engine.compile import CompiledPolicy, compile_policy
from chartkit.engine.exceptions import PolicyException
from chartkit.engine.failure_action import rule_action
from chartkit.engine.policy import Policy
from chartkit.engine.policy_check.generation import kubernetes_cluster_wide
from chartkit.errors import CompileError, InputError
from chartkit.model import Diagnostic, Json, Location, Resource
from chartkit.report import PolicyFacts
from chartkit.scan.files import is_chart, walk
from chartkit.scan.inputs import ChartOptions, is_object, render_inputs

_TEST_FILES = frozenset({"kyverno-test.yaml", "kyverno-test.yml"})
_TEST_FOLDERS = frozenset({".chainsaw-test", ".kyverno-test", ".chainsaw"})


Namespaces = Mapping[str, Mapping[str, str]]
_NO_NAMESPACES: Namespaces = MappingProxyType({})
_KINDS = {"kyverno.io": frozenset({"ClusterPolicy", "Policy", *CLEANUP_KINDS})}


@dataclass(frozen=True, slots=True)
class PolicySet:
    """policies: what compiled; diagnostics: why the others did not; cleanup: what deletes."""

    policies: tuple[CompiledPolicy, ...]
    diagnostics: tuple[Diagnostic, ...]
    cleanup: tuple[CleanupPolicy, ...] = ()

    def facts(self, namespaces: Namespaces = _NO_NAMESPACES) -> Mapping[str, PolicyFacts]:
        """What reports say of each policy; namespaces: the labels of each."""
        return {policy.policy.key: _facts(policy.policy, namespaces) for policy in self.policies}


def is_policy(resource: Resource) -> bool:
    """Whether an object is a policy that the engine knows, or will say that it does not."""
    group = resource.api_version.partition("/")[0]
    return resource.kind in _KINDS.get(group, ())


def load_policies(
    sources: Sequence[str],
    parameters: Mapping[str, Json],
    exceptions: Sequence[PolicyException] = (),
) -> PolicySet:
    """Compiles the policies of every source; raises InputError where a source has none.

    A source is a file, a folder, a chart or the name of a profile; parameters (`name` or
    `policy.name`) go to profiles.
    """
    found: list[Resource] = []
    for source in sources:
        here = _read_source(source, parameters)
        if not here:
            raise InputError("holds no policy", Location(source), _profiles_hint())
        found.extend(here)
    return compile_all(found, exceptions)


def compile_all(found: Iterable[Resource], exceptions: Sequence[PolicyException] = ()) -> PolicySet:
    """Compiles each policy; what does not compile becomes diagnostics.

    Which kinds stand outside namespaces is known as a cluster knows it.
    """
    compiled: list[CompiledPolicy] = []
    cleanup: list[CleanupPolicy] = []
    diagnostics: list[Diagnostic] = []
    for resource in found:
        try:
            if resource.kind in CLEANUP_KINDS:
                cleanup.append(read_cleanup_policy(resource))
                diagnostics.extend(cleanup[-1].diagnostics)
            else:
                compiled.append(compile_policy(resource, exceptions, kubernetes_cluster_wide))
        except CompileError as error:
            diagnostics.extend(error.diagnostics)
    return PolicySet(tuple(compiled), tuple(diagnostics), tuple(cleanup))


def _read_source(source: str, parameters: Mapping[str, Json]) -> list[Resource]:
    path = Path(source)
    if not path.exists():
        return _read_profile(source, parameters)
    if path.is_dir() and is_chart(path):
        return [r for r in render_inputs(path, ChartOptions()) if is_policy(r)]
    if not path.is_dir():
        return _policies_of(read_file(path))
    found: list[Resource] = []
    for file in walk(path):
        if file.is_dir():
            found.extend(r for r in render_inputs(file, ChartOptions()) if is_policy(r))
        elif file.name not in _TEST_FILES and not _TEST_FOLDERS.intersection(file.parts):
            found.extend(_policies_of(read_file(file)))
    return found


def _read_profile(name: str, parameters: Mapping[str, Json]) -> list[Resource]:
    from chartkit.chart.policies_chart import render_profile

    if name not in profile_names():
        raise InputError("no such file, folder or profile", Location(name), _profiles_hint())
    return list(render_profile(name, parameters))


def profile_names() -> list[str]:
    """The built-in profiles."""
    return sorted(path.stem for path in profiles_dir().glob("*.yaml"))


def _policies_of(documents: Iterable[Document]) -> list[Resource]:
    found = resources(document for document in documents if is_object(document))
    return [resource for resource in found if is_policy(resource)]


def _profiles_hint() -> str:
    return f"name a file or folder with policies, or a profile: {', '.join(profile_names())}"


def _facts(policy: Policy, namespaces: Namespaces) -> PolicyFacts:
    annotations = policy.annotations
    return PolicyFacts(
        name=policy.key,
        action=lambda rule, namespace: rule_action(
            policy, rule, namespace, namespaces.get(namespace)
        ),
        severity=annotations.get("policies.kyverno.io/severity", ""),
        category=annotations.get("policies.kyverno.io/category", ""),
        scored=annotations.get("policies.kyverno.io/scored") != "false",
    )
