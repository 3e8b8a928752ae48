"""Policies of either generation behind one protocol: read and compiled by their kind, and evaluated
in admission order.

What CEL needs is loaded when the first policy needs it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.cluster_policy.policy import KINDS
from chartkit.engine.cluster_policy.policy_check.warnings import nothing_cluster_wide
from chartkit.engine.kubernetes.kinds import (
    CEL_GROUP,
    CLEANUP_KINDS,
    KYVERNO_GROUP,
    CelKind,
    CustomNames,
    group_of,
    is_binding,
    is_cel_policy,
    scope_of,
)
from chartkit.engine.kubernetes.kinds import KINDS as CEL_KINDS
from chartkit.engine.ports.world import OFFLINE, World
from chartkit.engine.request import PHASES, Phase, Request, Run
from chartkit.errors import InputError
from chartkit.model import Diagnostic, Resource, RuleResult
from chartkit.suggestions import suggestion

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from chartkit.engine.cel_policies.exceptions import CelException
    from chartkit.engine.cel_policies.policy import CelPolicy
    from chartkit.engine.cleanup import Cleaner
    from chartkit.engine.cluster_policy.exceptions import PolicyException
    from chartkit.engine.cluster_policy.policy import Policy
    from chartkit.engine.why import RuleDecision


class RunnablePolicy(Protocol):
    """A compiled policy, of either generation, that evaluates objects when they are admitted.

    phases: those in which it runs; scored: whether a failure is one (else it is a warning).
    """

    @property
    def policy(self) -> Policy | CelPolicy: ...

    @property
    def phases(self) -> frozenset[Phase]: ...

    @property
    def scored(self) -> bool: ...

    @property
    def judges_json(self) -> bool:
        """Report whether it is for plain JSON: Kyverno's controllers do not ask it about
        admissions."""

    @property
    def runs_in_api_server(self) -> bool:
        """Report whether the API server evaluates it, and not Kyverno."""

    @property
    def source(self) -> str:
        """The source of its results, as Kyverno's reports name it (`pkg/utils/report`)."""

    @property
    def looks_around(self) -> bool:
        """Report whether it may ask for more than the object of the request: the cluster's objects,
        an entry, a service or a registry. True for too many rather than too few."""

    def action(self, rule: str, namespace: str, labels: Mapping[str, str] | None = None, /) -> str:
        """Return `Enforce` or `Audit`: whether a failure of a rule blocks an object in a namespace.

        rule: as in a result; labels: the labels of the namespace. The actions of a CEL policy or of
        its bindings decide; without any it denies.
        """

    def warnings(self) -> tuple[Diagnostic, ...]:
        """The faults that Kyverno or an API server accepts with a warning, or ignores silently."""

    def rules_in(self, phases: Collection[Phase], /) -> tuple[str, ...]:
        """Return the names of the rules that run in phases; empty texts for a CEL policy."""

    def concerns(self, request: Request, /) -> bool:
        """Report whether it may apply to requests of a kind; false only if it never does."""

    def run_phase(self, run: Run, phase: Phase, results: list[RuleResult], /) -> None:
        """Add the results of a phase; an object that a rule patched goes on to the next rule."""

    def why_phase(
        self, run: Run, phase: Phase, results: list[RuleResult], /
    ) -> tuple[RuleDecision, ...]:
        """Run a phase like `run_phase`, and return the decision of every rule and form in it, even
        without a result for the object."""

    def run_forms(
        self, run: Run, phase: Phase, /
    ) -> Iterator[tuple[CelPolicy | None, list[RuleResult]]]:
        """Yield the results of a phase by form; None: a policy without forms."""


EXCEPTION: Final = "PolicyException"
"""The kind of exceptions in both generations."""


def is_policy(resource: Resource) -> bool:
    """Report whether an object is a policy that the engine reads."""
    return is_cel_policy(resource) or (
        group_of(resource) == KYVERNO_GROUP and resource.kind in (*KINDS, *CLEANUP_KINDS)
    )


def misnamed(resource: Resource) -> InputError | None:
    """Return the error about an object that is perhaps a policy, of a misspelt kind or group; None
    for any other object."""
    kinds = (*KINDS, *CLEANUP_KINDS, *CEL_KINDS)
    group = group_of(resource)
    if group in (KYVERNO_GROUP, CEL_GROUP) and resource.kind not in kinds:
        hint = (
            None if resource.kind == EXCEPTION else suggestion(resource.kind, (*kinds, EXCEPTION))
        )
        message = f"there is no kind '{resource.kind}' of {group}"
        return InputError(message, resource.location.within("/kind"), hint) if hint else None
    groups = (KYVERNO_GROUP, CEL_GROUP)
    if resource.kind in kinds and resource.kind != "Policy" and group not in groups:
        message = f"there is no group '{group}' with a kind '{resource.kind}'"
        hint = suggestion(group, groups)
        return InputError(message, resource.location.within("/apiVersion"), hint) if hint else None
    return None


def is_exception(resource: Resource) -> bool:
    """Report whether an object is a PolicyException of either generation."""
    return resource.kind == EXCEPTION and group_of(resource) in (KYVERNO_GROUP, CEL_GROUP)


@dataclass(frozen=True, slots=True)
class PolicyAttachments:
    """The settings and documents that affect policies: exceptions of both generations, the
    bindings of Kubernetes' own policies, the controllers' flag
    `--allowHTTPInNamespacedPolicies`, and the scopes of custom kinds (None: all kinds are taken as
    namespaced, as in Kyverno's command line)."""

    exceptions: tuple[PolicyException, ...] = ()
    cel_exceptions: tuple[CelException, ...] = ()
    bindings: tuple[Resource, ...] = ()
    allows_http: bool = False
    names: CustomNames | None = None

    def with_bindings(self, resources: Iterable[Resource]) -> PolicyAttachments:
        """Return these attachments and the bindings among some objects."""
        return replace(self, bindings=(*self.bindings, *filter(is_binding, resources)))


NO_ATTACHMENTS: Final = PolicyAttachments()


def read_exceptions(resources: Iterable[Resource]) -> PolicyAttachments:
    """The exceptions among some objects; raises CompileError for one that Kyverno rejects."""
    old: list[PolicyException] = []
    new: list[CelException] = []
    for resource in filter(is_exception, resources):
        if group_of(resource) == KYVERNO_GROUP:
            from chartkit.engine.cluster_policy.exceptions import read_exception

            old.append(read_exception(resource))
        else:
            from chartkit.engine.cel_policies.exceptions import read_cel_exception

            new.append(read_cel_exception(resource))
    return PolicyAttachments(tuple(old), tuple(new))


def compile_any(
    resource: Resource,
    attachments: PolicyAttachments = NO_ATTACHMENTS,
) -> RunnablePolicy | Cleaner:
    """Compiles a policy of any kind that `is_policy` knows; raises CompileError."""
    if resource.kind.endswith(CelKind.DELETING):
        from chartkit.engine.cleanup.deleting import read_deleting_policy

        return read_deleting_policy(resource, attachments.cel_exceptions, attachments.allows_http)
    if is_cel_policy(resource):
        from chartkit.engine.cel_policies.compile import compile_cel_policy

        return compile_cel_policy(
            resource, attachments.cel_exceptions, attachments.bindings, attachments.allows_http
        )
    if resource.kind in CLEANUP_KINDS:
        from chartkit.engine.cleanup.policy import read_cleanup_policy

        return read_cleanup_policy(resource)
    names = attachments.names
    cluster_wide = nothing_cluster_wide if names is None else scope_of(names)
    return compile_policy(resource, attachments.exceptions, cluster_wide)


def sorted_out(
    compiled: Iterable[RunnablePolicy | Cleaner],
) -> tuple[tuple[RunnablePolicy, ...], tuple[Cleaner, ...]]:
    """Return the policies that run at admission, and the policies that delete on a schedule."""
    runnable: list[RunnablePolicy] = []
    cleaners: list[Cleaner] = []
    for policy in compiled:
        if _is_cleaner(policy):
            cleaners.append(policy)
        else:
            runnable.append(policy)
    return tuple(runnable), tuple(cleaners)


def _is_cleaner(policy: RunnablePolicy | Cleaner) -> TypeIs[Cleaner]:
    return not hasattr(policy, "phases")


def evaluate(
    policies: Sequence[RunnablePolicy],
    request: Request,
    world: World = OFFLINE,
    phases: Iterable[Phase] = PHASES,
) -> list[RuleResult]:
    """Return the result of every rule that matches: mutation first, then images, validation,
    generation.

    phases: the phases of an admission, in order; a background scan has only some of them. Never
    raises because of a policy or a resource: the rule's status becomes `Status.ERROR`. A failure of
    a policy that is not scored is a warning.
    """
    results: list[RuleResult] = []
    run = Run(request, world)
    for phase in phases:
        for policy in policies:
            if phase in policy.phases:
                policy.run_phase(run, phase, results)
    run.end()
    return run.settled(results)
