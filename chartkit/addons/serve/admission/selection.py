"""The policies of a server, and those that a webhook's path names, by what they do at admission.

`/validate` and `/mutate` name all policies. The other paths are those that Kyverno's own webhook
configurations use: `/validate/fail`, `/mutate/ignore/finegrained/NAME`, `/vpol/NAME/NAME`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from chartkit.addons.serve.admission import denials
from chartkit.addons.serve.admission.review import Answer, RoleBindings
from chartkit.engine import ENFORCE, OFFLINE, Phase, Request, RunnablePolicy, World
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.kubernetes.kinds import NAMESPACED, UNKNOWN, CelKind, CustomNames, kind_of
from chartkit.engine.reads import Course
from chartkit.engine.request import Run
from chartkit.engine.sharing import Sharing, Space, judged, place_of
from chartkit.engine.verdicts import FEW, is_shareable
from chartkit.model import Json, Resource, RuleResult, Status, mapping_at, mappings_at
from chartkit.report.model import PolicyFacts

FAIL: Final = "Fail"
IGNORE: Final = "Ignore"
ALLOWED: Final = Answer(allowed=True)
DENY: Final = "Deny"
WARN: Final = "Warn"
_MOST_KINDS = 256
FINE_GRAINED: Final = "finegrained"
_FAILURES: Final = {"fail": FAIL, "ignore": IGNORE}
_LONGEST: Final = 16_384
"""Characters of a path. The path of a webhook names its policies."""


@dataclass(frozen=True, slots=True)
class Served:
    """Policies and their surroundings, replaced as a whole.

    request: makes the request of an object, with its namespace; world: gives the world that
    policies see, which may have changed since it was last called; roles: of users; filtered:
    whether Kyverno's configuration keeps an object (with the request's subresource) away from its
    policies, None if it keeps none away; facts: of policies for reports, by their ID; names: of the
    custom kinds that are known; notes: what is not carried out.
    """

    policies: tuple[RunnablePolicy, ...]
    request: Callable[[Resource], Request] = Request
    world: Callable[[], World] = lambda: OFFLINE
    roles: RoleBindings = field(default_factory=RoleBindings)
    filtered: Callable[[Resource, str], bool] | None = None
    facts: Mapping[str, PolicyFacts] = field(default_factory=dict)
    names: CustomNames = UNKNOWN
    notes: tuple[str, ...] = ()


def failure_policy(policy: RunnablePolicy) -> str:
    """Return `Fail` or `Ignore`: what an API server does with a request if there is no verdict."""
    own = policy.policy
    if isinstance(own, CelPolicy) and own.kind is CelKind.GENERATING:
        return IGNORE
    spec = mapping_at(own.resource.body, "spec")
    given = mapping_at(spec, "webhookConfiguration").get("failurePolicy")
    return IGNORE if (given or spec.get("failurePolicy")) == IGNORE else FAIL


def enforces(policy: RunnablePolicy) -> bool:
    """Report whether a ClusterPolicy may refuse an object anywhere (`pkg/policycache`)."""
    spec = mapping_at(policy.policy.resource.body, "spec")
    if _has_enforce(spec, "validationFailureAction", "validationFailureActionOverrides"):
        return True
    return any(
        _has_enforce(mapping_at(rule, "validate"), "failureAction", "failureActionOverrides")
        or any(
            _is_enforce(image.get("failureAction")) for image in mappings_at(rule, "verifyImages")
        )
        for rule in mappings_at(spec, "rules")
    )


def _has_enforce(body: Mapping[str, Json], action: str, overrides: str) -> bool:
    listed = mappings_at(dict(body), overrides)
    return _is_enforce(body.get(action)) or any(_is_enforce(row.get("action")) for row in listed)


def _is_enforce(action: Json) -> bool:
    return isinstance(action, str) and action.capitalize() == ENFORCE


def is_cel(policy: RunnablePolicy) -> bool:
    """Report whether a policy is of the group policies.kyverno.io."""
    return isinstance(policy.policy, CelPolicy)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The results of one policy, and its seconds; none where an equal review had them."""

    policy: RunnablePolicy
    results: Sequence[RuleResult]
    seconds: float


@dataclass(slots=True, eq=False)
class Findings:
    """The results of policies, each of which a rule matched. is_shared: whether they come from an
    equal review; decision: what they decide, once it is known."""

    evaluated: Sequence[Evaluated]
    is_shared: bool = False
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of validating policies about an object. failures: of ClusterPolicies that
    refuse, as YAML, empty where none does; denials: of CEL policies, on one line; warnings: for the
    user."""

    failures: str
    denials: str
    warnings: Sequence[str]

    def answer(self, resource: Resource) -> Answer:
        """Return the answer to the review of an object."""
        if not (self.failures or self.denials or self.warnings):
            return ALLOWED
        blocked = denials.blocked(resource, self.failures) if self.failures else ""
        message = "\n".join(filter(None, (blocked, self.denials)))
        return Answer(not message, message, self.warnings)


def decided(evaluated: Iterable[Evaluated], request: Request, failure: str) -> Decision:
    """Return the decision that results make; failure: the failure policy of enforcing ones."""
    old: list[Evaluated] = []
    new: list[Evaluated] = []
    for outcome in evaluated:
        (new if is_cel(outcome.policy) else old).append(outcome)
    failures = ""
    if any(refuses(outcome, request, failure) for outcome in old):
        failures = denials.failures([result for outcome in old for result in outcome.results])
    denying = [line for form in new if acts(form, DENY) for line in denials.by_cel(form.results)]
    warnings = [line for form in new if acts(form, WARN) for line in denials.by_cel(form.results)]
    return Decision(failures, "; ".join(denying), warnings)


def refuses(evaluated: Evaluated, request: Request, failure: str) -> bool:
    """Report whether results of a ClusterPolicy refuse an object (`pkg/utils/engine`)."""
    for result in evaluated.results:
        if result.status is Status.ERROR and failure == FAIL:
            return True
        if result.status is Status.FAIL:
            namespace, labels = request.resource.namespace, request.namespace_labels
            if evaluated.policy.action(result.rule, namespace, labels) == ENFORCE:
                return True
    return False


def acts(evaluated: Evaluated, action: str) -> bool:
    """Report whether a failure of a CEL policy has an effect; without any, it denies."""
    policy = evaluated.policy.policy
    actions = policy.actions if isinstance(policy, CelPolicy) else ()
    return action in (actions or (DENY,))


class Shared:
    """Policies that validate, and what they found. Several threads may use it."""

    __slots__ = ("_kinds", "_policies", "_space")

    def __init__(self, policies: Sequence[RunnablePolicy]) -> None:
        self._policies = policies
        self._space = Space()
        self._kinds: dict[Hashable, Sharing[Findings]] = {}

    def findings(
        self, request: Request, world: World, policies: Iterable[RunnablePolicy]
    ) -> Findings:
        """Return the findings of the policies, which may come from an equal review."""
        sharing: Sharing[Findings] | None = None
        if is_shareable(request):
            resource = request.resource
            key = (request.kind or kind_of(resource), request.plural, bool(resource.namespace))
            sharing = self._kinds.get(key)
            if sharing is None and len(self._kinds) < _MOST_KINDS:
                sharing = self._kinds[key] = Sharing(self._policies, self._space, FEW)
        is_ready = sharing is not None and sharing.is_ready()
        user = request.user
        if user is None:
            asker: Hashable = None
        else:
            extra = json.dumps(user.extra, sort_keys=True) if user.extra else ""
            asker = user.name, user.uid, user.groups, extra, user.roles, user.cluster_roles
        sharing_key = (asker, request.review and (*request.review,), place_of(request))
        whole = sharing.whole(request, sharing_key) if sharing is not None and is_ready else None
        if whole is not None:
            return whole
        clock = time.perf_counter
        run = Run(request, world)
        evaluated: list[Evaluated] = []
        courses: list[Course] = []
        for number, policy in enumerate(policies):
            begun = clock()
            shared = sharing.verdicts.get(number) if sharing is not None and is_ready else None
            if shared is None:
                results: list[RuleResult] = []
                policy.run_phase(run, Phase.VALIDATE, results)
            else:
                verdict, course = judged(policy, request, world, shared, sharing_key)
                results = list(verdict)
                courses += () if course is None else (course,)
            if results:
                evaluated.append(Evaluated(policy, results, clock() - begun))
        if sharing is not None and is_ready and sharing.is_all:
            untimed = tuple(replace(outcome, seconds=0.0) for outcome in evaluated)
            sharing.keep(courses, request, sharing_key, Findings(untimed, is_shared=True))
        return Findings(evaluated)


class Webhook(StrEnum):
    """The kind of a webhook, as Kyverno's metrics name it."""

    VALIDATING = "ValidatingWebhookConfiguration"
    MUTATING = "MutatingWebhookConfiguration"


CEL_PATHS: Final = {
    "vpol": (CelKind.VALIDATING, Webhook.VALIDATING),
    "gpol": (CelKind.GENERATING, Webhook.VALIDATING),
    "mpol": (CelKind.MUTATING, Webhook.MUTATING),
    "ivpol/validate": (CelKind.IMAGE_VALIDATING, Webhook.VALIDATING),
    "ivpol/mutate": (CelKind.IMAGE_VALIDATING, Webhook.MUTATING),
}
"""The path of each kind of CEL policies; namespaced kinds have an `n` in front."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Policies by what they do, in order.

    validating: those that may refuse, ClusterPolicies first; auditing: ClusterPolicies that
    cannot; mutating, verifying: ClusterPolicies; cel_mutating, cel_verifying: CEL policies;
    failure: `Fail` if it is the failure policy of any that enforces; looks_around: whether any may
    ask for more than the object; answers, audits: results that reviews share.
    """

    validating: tuple[RunnablePolicy, ...]
    auditing: tuple[RunnablePolicy, ...]
    mutating: tuple[RunnablePolicy, ...]
    verifying: tuple[RunnablePolicy, ...]
    cel_mutating: tuple[RunnablePolicy, ...]
    cel_verifying: tuple[RunnablePolicy, ...]
    failure: str
    looks_around: bool
    answers: Shared
    audits: Shared


def admits(policy: RunnablePolicy) -> bool:
    """Report whether Kyverno asks a policy when objects are admitted, not the API server alone."""
    return policy.policy.admission and not (policy.judges_json or policy.runs_in_api_server)


def selected(policies: Iterable[RunnablePolicy]) -> Selection:
    """Return policies by what they do; those that are not asked at admission are left out."""
    asked = [policy for policy in policies if admits(policy)]
    old = [policy for policy in asked if not is_cel(policy)]
    new = [policy for policy in asked if is_cel(policy)]
    validating = _in(Phase.VALIDATE, old)
    enforcing = tuple(policy for policy in validating if enforces(policy))
    auditing = tuple(policy for policy in validating if not enforces(policy))
    refusing = (*enforcing, *_in(Phase.VALIDATE, new))
    return Selection(
        validating=refusing,
        auditing=auditing,
        mutating=_in(Phase.MUTATE, old),
        verifying=_in(Phase.IMAGES, old),
        cel_mutating=_in(Phase.MUTATE, new),
        cel_verifying=_in(Phase.IMAGES, new),
        failure=FAIL if any(failure_policy(policy) == FAIL for policy in enforcing) else IGNORE,
        looks_around=any(policy.looks_around for policy in asked),
        answers=Shared(refusing),
        audits=Shared(auditing),
    )


def _in(phase: Phase, policies: Sequence[RunnablePolicy]) -> tuple[RunnablePolicy, ...]:
    return tuple(policy for policy in policies if phase in policy.phases)


def parse_path(path: str) -> tuple[Webhook, Callable[[RunnablePolicy], bool]] | None:
    """Return the kind of a webhook's path, and whether it names a policy; None for another path."""
    root, *rest = path.strip("/").split("/")
    if len(path) > _LONGEST:
        return None
    if root in ("validate", "mutate"):
        webhook = Webhook.VALIDATING if root == "validate" else Webhook.MUTATING
        chooses = _by_failure(rest)
        return None if chooses is None else (webhook, chooses)
    if root in ("ivpol", "nivpol") and rest:
        root, rest = f"{root}/{rest[0]}", rest[1:]
    prefix, name = ("", root) if root in CEL_PATHS else (NAMESPACED, root.removeprefix("n"))
    if name not in CEL_PATHS or root not in (name, f"n{name}"):
        return None
    kind, webhook = CEL_PATHS[name]
    names = frozenset(rest)

    def is_named(policy: RunnablePolicy) -> bool:
        if policy.policy.resource.kind != f"{prefix}{kind}":
            return False
        return not names or policy.policy.name in names

    return webhook, is_named


def _by_failure(rest: Sequence[str]) -> Callable[[RunnablePolicy], bool] | None:
    """Return a choice of ClusterPolicies by `fail/finegrained/NAME`; all policies without it."""
    if not rest:
        return lambda _policy: True
    failure = _FAILURES.get(rest[0])
    if failure is None or (len(rest) > 1 and (rest[1] != FINE_GRAINED or len(rest) > 4)):
        return None
    key = "/".join(rest[2:])

    def chooses(policy: RunnablePolicy) -> bool:
        if is_cel(policy) or failure_policy(policy) != failure:
            return False
        return not key or policy.policy.key == key

    return chooses
