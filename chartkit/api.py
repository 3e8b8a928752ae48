"""chartkit as a library: manifests loaded, policies compiled and evaluated, projects rendered and
policies migrated.

What `__all__` names is stable, and nothing else of the package; docs/reference/api.md describes it.
A function imports what it needs when it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.errors import ChartkitError, CompileError, InputError, RenderError
from chartkit.model import (
    Body,
    Diagnostic,
    Json,
    Location,
    Resource,
    RuleResult,
    Severity,
    Status,
    Track,
    untracked,
)

if TYPE_CHECKING:
    from chartkit.engine.request import User as User
    from chartkit.project.environment import Environment
    from chartkit.project.project import Project
    from chartkit.render.model import Outcome as Outcome
    from chartkit.render.model import RenderResult as RenderResult
    from chartkit.render.model import Row as Row
    from chartkit.report import PolicyFacts
    from chartkit.scan.policies import PolicySet as CompiledPolicies

__all__ = [
    "ChartkitError",
    "CompileError",
    "Counterexample",
    "Diagnostic",
    "InputError",
    "Location",
    "Manifests",
    "MigratedPolicy",
    "Migration",
    "Outcome",
    "PolicySet",
    "RenderError",
    "RenderResult",
    "Resource",
    "Result",
    "Row",
    "Severity",
    "Status",
    "User",
    "Verdict",
    "compile",
    "load",
    "migrate",
    "render",
]
_LAZY: Final = {
    "Outcome": "chartkit.render.model",
    "RenderResult": "chartkit.render.model",
    "Row": "chartkit.render.model",
    "User": "chartkit.engine.request",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_LAZY[name]), name)
        return value


@dataclass(frozen=True, slots=True)
class Manifests:
    """Objects in the order of the inputs, each with its place, and the problems: inputs that could
    not be read, and notes about the others."""

    objects: tuple[Resource, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


def load(
    *paths: str | Path,
    text: str | None = None,
    name: str = "<text>",
    values: Sequence[str | Path] = (),
    namespace: str = "default",
) -> Manifests:
    """Read the objects at paths (manifests, folders, charts, kustomizations, and the releases of
    Flux and Argo CD that they declare), then those of a text.

    name: the file in the places of the text; values, namespace: with which Helm renders charts. Of
    several paths, one that cannot be read becomes a problem. Raise InputError or RenderError for a
    sole path that cannot be read or has no object, and for a text that has anything else.
    """
    from io import StringIO

    from chartkit.documents.reader import read_text
    from chartkit.scan.inputs import ChartOptions, named_objects
    from chartkit.scan.requests import objects_at

    problems: list[Diagnostic] = []
    objects: list[Resource] = []
    if paths:
        chart = ChartOptions(tuple(map(Path, values)), namespace=namespace)
        objects = objects_at([*map(str, paths)], StringIO(), problems.append, chart)
    if text is not None:
        objects += named_objects(read_text(text, name), problems.append)
    return Manifests(tuple(objects), tuple(problems))


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a rule for an object.

    policy: `namespace/name` for a policy of a namespace; place: of the field that a failure is
    about, of its parent where it is missing, or of the object; field: its JSON pointer, empty for
    none; action: `Enforce` or `Audit`; severity: the policy's, may be empty; why: the checks that
    decided, as lines, where they were asked for; patched: the object after a mutation; generated:
    the objects that the rule creates.
    """

    policy: str
    rule: str
    object: Resource
    status: Status
    message: str
    place: Location
    field: str
    action: str
    severity: str = ""
    why: tuple[str, ...] = ()
    patched: Body | None = None
    generated: tuple[Body, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PolicySet:
    """Compiled policies. policies: the names of those that compile; problems: why the others do
    not, and warnings."""

    policies: tuple[str, ...]
    problems: tuple[Diagnostic, ...]
    _compiled: CompiledPolicies = field(repr=False)

    def evaluate(
        self,
        objects: Manifests | Iterable[Resource],
        *,
        operation: str = "CREATE",
        user: User | None = None,
        why: bool = False,
        jobs: int = 1,
    ) -> tuple[Result, ...]:
        """Return the result of every rule that matches, by object and in the order of an admission.

        The objects are all that there is in the cluster: Namespaces among them give labels,
        definitions of custom kinds check objects of these kinds. operation: CREATE, UPDATE or
        DELETE; of the last two, the object is the old one as well; jobs: the most processes that
        judge many objects, one for a program with several threads and for `why`. Nothing that a
        policy or an object holds raises: it becomes a result with the status `error`.
        """
        from chartkit.scan.parallel.reported import Shown
        from chartkit.scan.requests import Requests
        from chartkit.scan.run import ObjectScan
        from chartkit.scan.why.report import ScanReasons

        _require_known("operation", operation, ("CREATE", "UPDATE", "DELETE"))
        given = tuple(objects.objects if isinstance(objects, Manifests) else objects)
        requests = Requests.of(self._compiled, given)
        context = replace(
            requests.context(requests.world()),
            user=user,
            operation="" if operation == "CREATE" else operation,
            reasons=ScanReasons() if why else None,
        )
        facts, completion = requests.facts(), requests.completion()
        results: list[Result] = []

        def take(resource: Resource, judged: Sequence[RuleResult]) -> None:
            results.extend(_result(resource, result, facts[result.policy_id]) for result in judged)

        policies, processes = requests.policies.policies, 1 if why else jobs
        ObjectScan(policies, context, completion, processes, Shown()).run(given, take)
        return tuple(results)


def _require_known(parameter: str, given: str, choices: Iterable[str]) -> None:
    if given not in (names := [*choices]):
        raise InputError(f"{parameter} '{given}' is not one of {', '.join(names)}")


def _result(resource: Resource, result: RuleResult, facts: PolicyFacts) -> Result:
    pointer = result.fields[0] if result.fields else ""
    return Result(
        result.policy,
        result.rule,
        resource,
        result.status,
        result.message,
        resource.location.within(pointer) if pointer else resource.location,
        pointer,
        facts.action(result.rule, resource.namespace),
        facts.severity,
        result.why,
        result.patched,
        result.generated,
    )


def compile(
    *policies: str | Path | Manifests,
    parameters: Mapping[str, Json] | None = None,
    policy_type: str = "ClusterPolicy",
) -> PolicySet:
    """Compile policies of files, folders, charts and profiles (by name or file), and those that
    were loaded, with the exceptions among these.

    parameters, policy_type: of profiles, as `--param` and `--policy-type` of `chartkit scan`.
    Raise InputError for what holds no policy or cannot be read, and CompileError for an exception
    that Kyverno refuses.
    """
    from chartkit.engine import is_exception, read_exceptions
    from chartkit.project.settings import PolicyType
    from chartkit.scan.policies import load_policies

    _require_known("policy_type", policy_type, PolicyType)

    given = [
        body for loaded in policies if isinstance(loaded, Manifests) for body in loaded.objects
    ]
    compiled = load_policies(
        [str(source) for source in policies if not isinstance(source, Manifests)],
        parameters or {},
        read_exceptions(filter(is_exception, given)),
        policy_type,
        given=given,
    )
    names = tuple(policy.policy.key for policy in compiled.policies)
    return PolicySet(names, (*compiled.diagnostics, *compiled.remarks), compiled)


def render(
    project: str | Path = ".",
    environments: Sequence[str] = (),
    *,
    write: bool = False,
    workloads: Sequence[str | Path] = (),
    prefer: str | None = None,
    kustomize: bool = False,
    gitops: Sequence[str] = (),
    repository: str | None = None,
    revision: str | None = None,
    update_baseline: bool = False,
    cache: bool = True,
    jobs: int | None = None,
    track: Track = untracked,
) -> RenderResult:
    """Render the charts of a project and check its environments, all of them if none are named.

    The options are those of `chartkit render`. Nothing is written unless `write` asks for it, and
    then only where no check fails; otherwise the result says how the charts on disk differ. track:
    shows progress. Raise InputError for an unfit project, RenderError where Helm cannot render.
    """
    from chartkit.output.values_merge import Prefer
    from chartkit.project.project import read_project
    from chartkit.project.settings import Workload
    from chartkit.render import cache as kept

    if prefer is not None:
        _require_known("prefer", prefer, Prefer)
    own = read_project(Path(project))
    checked = _named(own, environments)

    def rendered() -> RenderResult:
        from chartkit.render.gitops.checks import read_repository
        from chartkit.render.gitops.deployers import DEPLOYERS
        from chartkit.render.pipeline import RenderOptions, render_project

        for deployer in gitops:
            _require_known("gitops", deployer, DEPLOYERS)
        if update_baseline:
            _require_own_baselines(own, checked)
        options = RenderOptions(
            environments=checked,
            workloads=tuple(Workload(Path(path), Location(str(path))) for path in workloads),
            prefer=Prefer(prefer) if prefer else Prefer.NEITHER,
            check=not write,
            kustomize=kustomize,
            gitops=tuple(dict.fromkeys(gitops)),
            repository=read_repository(own, gitops, repository, revision),
            update_baseline=update_baseline,
            jobs=jobs,
            uses_cache=cache,
            track=track,
        )
        return render_project(own, options)

    if not cache or update_baseline or gitops or repository or revision:
        return rendered()
    key = kept.key_options(checked, prefer, not write, kustomize)
    return kept.cached_result(own, tuple(map(Path, workloads)), key, rendered)


def _named(project: Project, names: Sequence[str]) -> tuple[Environment, ...]:
    """Return the environments of names, all of a project without one; raise InputError."""
    chosen = {env.name: env for name in names for env in project.environments_of(name)}
    return tuple((chosen or project.environments).values())


def _require_own_baselines(project: Project, environments: Sequence[Environment]) -> None:
    """Raise InputError where no environment has a baseline, or two would write one."""
    if not any(environment.baseline for environment in environments):
        location = project.locate("environments")
        raise InputError("no environment has a baseline", location, "baseline: FILE")
    first: dict[Path, str] = {}
    for other in environments:
        if other.baseline and first.setdefault(other.baseline, other.name) != other.name:
            message = f"{first[other.baseline]} and {other.name} would write one baseline"
            hint = "give each its own, or null"
            raise InputError(message, other.locate("baseline"), hint)


class Verdict(StrEnum):
    """The verdict of a proof: both forms of a policy answered all requests alike; some answers
    differ; no request made either form decide; or nothing was proved."""

    EQUAL = "equal"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    UNPROVED = "unproved"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A request of which both forms of a policy say different things, as small as it can be."""

    difference: str
    request: Body


@dataclass(frozen=True, slots=True)
class MigratedPolicy:
    """A policy of kyverno.io and what becomes of it.

    documents: the policies that replace it; left: by rule, why it is left as it is, and nothing for
    a rule that converts; changes: what differs, as sentences.
    """

    policy: Resource
    documents: tuple[Body, ...]
    verdict: Verdict
    counterexamples: tuple[Counterexample, ...]
    left: Mapping[str, str]
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Migration:
    """text: the new policies as YAML, with the comments of the old ones and reasons for what is
    left; problems: why Kyverno refuses policies."""

    text: str
    policies: tuple[MigratedPolicy, ...]
    problems: tuple[Diagnostic, ...]


def migrate(
    policies: Manifests, *, prove: bool = True, objects: Manifests | None = None
) -> Migration:
    """Convert policies of kyverno.io to those of policies.kyverno.io, as `chartkit migrate
    policies` does.

    prove: whether both forms are asked about the same requests; objects: which they are asked about
    as well. Raise InputError where the add-on `migrate` is not installed.
    """
    from chartkit.addon import port

    migrated: Migration = port("migrate", "documents", "migrate")(policies, prove, objects)
    return migrated
