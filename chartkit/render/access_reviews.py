"""Access reviews: the questions that Kyverno asks the API server while it admits ClusterPolicies.

For each kind that a rule matches Kyverno asks whether its reports controller may get, list and
watch it (`pkg/policy/validate` and `pkg/policy/mutate`, 1.19), the rules for pod controllers
included. Helm writes all policies at once, so that each of them waits for the reviews of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from chartkit.charts.engine.chart import WebhookTimeout
from chartkit.charts.plan import ENGINE, ChartPlan
from chartkit.documents.reader import read_file
from chartkit.engine.cluster_policy.autogen import all_rules
from chartkit.engine.cluster_policy.policy import KINDS, Policy, Rule, read_policy
from chartkit.errors import CompileError, InputError
from chartkit.kyverno.controllers import ADMISSION, controllers, known_kinds
from chartkit.model import Body, Resource, mapping_at
from chartkit.project.project import Project
from chartkit.render.chart import CheckTarget
from chartkit.render.model import Outcome, Row
from chartkit.schemas.kind_selectors import parse_kind_selector
from chartkit.wording import abridged

CHECK: Final = "access reviews"
PROMPT_REVIEWS: Final = 600
"""The reviews that end within Kyverno's ten seconds. A control plane short of processor time
answers some 70 a second: 858 took 10 to 12 s on two cores under a load of nineteen, and 1,191 took
2 to 3 s on idle ones."""
LONG_TIMEOUT: Final = 30
"""The longest timeout that Kubernetes gives a webhook, in seconds."""
_DEFAULT_SECONDS: Final = "10"
TIMEOUT_FLAG: Final = "webhookTimeout"
TIMEOUT_KEY: Final = f"admissionController.container.extraArgs.{TIMEOUT_FLAG}"
_VERBS: Final = ("get", "list", "watch")
_RATE_FLAGS: Final = "clientRateLimitQPS: 500, clientRateLimitBurst: 1000"


def access_reviews(policies: Iterable[Resource]) -> int:
    """Return the number of reviews for all ClusterPolicies and Policies among objects; one that
    cannot be read counts for nothing."""
    return sum(
        len(_VERBS) * len(_named_kinds(rule))
        for resource in policies
        if resource.kind in KINDS
        for rule in _rules(resource)
    )


def _rules(resource: Resource) -> Sequence[Rule]:
    try:
        policy: Policy = read_policy(resource)
    except CompileError:
        return ()
    return all_rules(policy)


def _named_kinds(rule: Rule) -> Sequence[str]:
    """Return the kinds about which Kyverno asks: those before the first with a wildcard."""
    if not ("validate" in rule.body or "mutate" in rule.body or "generate" in rule.body):
        return ()
    kinds = rule.match.kinds
    first = next((at for at, kind in enumerate(kinds) if "*" in kind or "?" in kind), len(kinds))
    return kinds[:first]


def webhook_timeouts(project: Project, policies: ChartPlan) -> Mapping[str, WebhookTimeout]:
    """Return the timeouts of the environments whose policies Kyverno's webhooks need longer to
    admit; none where the project's own values of the engine give one, which values of an
    environment would override."""
    file = project.charts / ENGINE / "values.yaml"
    values: Body = {}
    # The merge of the values reports a file that cannot be read.
    with suppress(InputError):
        if file.is_file():
            values = next((document.body for document in read_file(file)), {})
    if TIMEOUT_FLAG in mapping_at(values, "admissionController", "container", "extraArgs"):
        return {}
    reviews = {name: access_reviews(own) for name, own in policies.cluster_policies.items()}
    return {
        name: WebhookTimeout(LONG_TIMEOUT, count)
        for name, count in reviews.items()
        if count > PROMPT_REVIEWS
    }


def slow_admission(subject: CheckTarget) -> Iterable[Row]:
    """Yield rows where so many ClusterPolicies come at once that Kyverno's webhooks need more than
    ten seconds: that they have it or how to give it, and what makes them slower, which are policies
    whose kinds the cluster serves only with definitions of others. Kyverno reads all APIs again for
    each lookup of a kind that is not served, and the other policies wait."""
    name, location = subject.environment.name, subject.policies.values.location
    policies = subject.policies.rendered().resources
    reviews = access_reviews(policies)
    if reviews <= PROMPT_REVIEWS:
        return
    what = f"Kyverno asks {reviews:,} access reviews while these ClusterPolicies are installed"
    if subject.engine is None:
        message = f"{what}, which may take longer than its webhooks wait"
        hint = (
            f"give the Kyverno that is there {_RATE_FLAGS} and {TIMEOUT_FLAG}: {LONG_TIMEOUT} as "
            "arguments of the admission controller, or install in CEL"
        )
        yield Row(name, CHECK, Outcome.NOTE, message, location, hint)
    else:
        # The seconds that the engine's arguments give its webhooks.
        given = [
            controller.flag(TIMEOUT_FLAG, _DEFAULT_SECONDS)
            for controller in controllers(subject.engine.rendered().resources)
            if controller.component == ADMISSION
        ]
        seconds = given[-1] if given else _DEFAULT_SECONDS
        message = f"{what}: its webhooks wait up to {seconds} s, those for objects as well"
        longer = f"set {TIMEOUT_KEY}: {LONG_TIMEOUT}, or install in CEL"
        longer_hint = longer if seconds == _DEFAULT_SECONDS else None
        engine_at = subject.engine.values.location
        yield Row(name, CHECK, Outcome.NOTE, message, engine_at, longer_hint)
    served = {api.rpartition("/")[0] for api, there in subject.environment.apis.items() if there}
    groups = {
        policy.name: others
        for policy in policies
        if policy.kind in KINDS and (others := _other_groups(policy) - served)
    }
    if groups:
        apis = ", ".join(sorted(set[str]().union(*groups.values())))
        message = (
            f"{abridged(sorted(groups))} match kinds of {apis}, which Kubernetes does not serve "
            "itself: without their definitions Kyverno reads all APIs of the cluster again for "
            "each, and the installation takes several times as long"
        )
        hint = (
            "switch them off where the definitions are not, or say under apis that they are there"
        )
        yield Row(name, CHECK, Outcome.NOTE, message, location, hint)


def _other_groups(policy: Resource) -> set[str]:
    """Return the groups of matched kinds that neither Kubernetes nor Kyverno defines."""
    selectors = [parse_kind_selector(kind) for rule in _rules(policy) for kind in rule.match.kinds]
    plurals = known_kinds().plurals
    return {
        kind.group
        for kind in selectors
        if "*" not in kind.group + kind.kind and (kind.group, kind.kind) not in plurals
    }
