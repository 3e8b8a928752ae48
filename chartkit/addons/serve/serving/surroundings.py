"""Loaded policies and objects, as an admission server takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from chartkit.addons.serve.admission.review import RoleBindings
from chartkit.addons.serve.admission.selection import admits
from chartkit.addons.serve.admission.served_policies import Served
from chartkit.engine import Phase, World
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.model import Diagnostic, Resource
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.policies import PolicySet
from chartkit.scan.requests import Requests


def served(
    requests: Requests,
    world: Callable[[], World],
    environment: ProjectEnvironment | None = None,
    notes: Sequence[Diagnostic] = (),
    bindings: Iterable[Resource] = (),
) -> Served:
    """Return what a server judges with. world: gives what policies see; environment: whose
    configuration keeps objects away from policies; bindings: of roles, besides those among the
    objects."""
    policies = requests.policies
    admissions = requests.context(world()).admissions(policies.policies)
    labels = requests.namespaces

    def is_filtered(resource: Resource, subresource: str) -> bool:
        if environment is None:
            return False
        given, config = in_namespace(resource, custom=requests.names), environment.configuration
        return any(config.unsent(given, labels.get(given.namespace), subresource))

    return Served(
        policies.policies,
        admissions.request,
        world,
        RoleBindings([*requests.objects, *bindings]),
        None if environment is None else is_filtered,
        requests.facts(),
        requests.names,
        (*map(str, notes), *_not_carried_out(policies)),
    )


def _not_carried_out(policies: PolicySet) -> Iterable[str]:
    """Yield a line for everything that policies do and a server does not."""
    for each in policies.policies:
        if each.runs_in_api_server:
            yield f"{each.policy.id}: the API server evaluates it, and not this server"
        elif not admits(each):
            yield f"{each.policy.id}: not asked at admission"
        elif Phase.GENERATE in each.phases:
            yield f"{each.policy.id}: nothing is generated, and nothing that exists is mutated"
    for cleaner in policies.cleanup:
        yield f"{cleaner.resource.name}: nothing is deleted on a schedule"
