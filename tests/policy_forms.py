"""The built-in policies in every form, as the chart renders them."""

import json
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chartkit.charts.plan import ChartPlan
from chartkit.charts.policies.chart import plan
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.engine.policies import RunnablePolicy, evaluate
from chartkit.engine.request import Request
from chartkit.helm.render import render_chart
from chartkit.library.policies import Examples, FolderPolicy
from chartkit.model import Body, Json, Resource, RuleResult
from chartkit.project.project import read_project
from chartkit.render.checks.engine import compiled_set
from chartkit.scan.verdicts import example_world
from tests.data import beside
from tests.policy_library import library

CLUSTER, VALIDATING, ADMISSION = FORMS = (
    "ClusterPolicy",
    "ValidatingPolicy",
    "ValidatingAdmissionPolicy",
)
LATEST: Final = 37
"""The newest minor version of which the library knows the Pod Security Standards."""

_PROJECT: Final = """\
profiles: [all.yaml]
environments:
  any: {kyverno: "1.19", kubernetes: "1.36"}
"""
_PROFILE: Final = beside(__file__)["profile"]
_POLICY_GROUPS: Final = ("kyverno.io", "policies.kyverno.io", "admissionregistration.k8s.io")

ALL: Final = list(library().policies.values())

Parameters = Mapping[str, Mapping[str, Json]]
"""The values of parameters, by policy."""

RenderedChart = Mapping[str, tuple[Resource, ...]]
"""What each policy is in one form: itself, and in CEL what the chart derives, bindings too."""


def render(form: str, parameters: Parameters) -> RenderedChart:
    """The policies that have an entry; one that has nothing to say at its values is empty."""
    return _render(form, json.dumps({name: dict(given) for name, given in parameters.items()}))


def render_for(form: str, policy: FolderPolicy, examples: Examples) -> tuple[Resource, ...]:
    """A policy at an example's values. Renders are shared: one has all policies at default values,
    another each policy at those of its first example with any, and so on."""
    given = [each.parameters for each in policy.examples if each.parameters]
    if not examples.parameters:
        return render(form, {each.name: {} for each in ALL})[policy.name]
    return render(form, _round(given.index(examples.parameters)))[policy.name]


@cache
def _round(number: int) -> Parameters:
    """The values of each policy's example of this number that gives any, of those that have one."""
    found = {}
    for policy in ALL:
        given = [each.parameters for each in policy.examples if each.parameters]
        if number < len(given):
            found[policy.name] = given[number]
    return found


def standard(
    form: str, minor: int, groups: Iterable[str] = ("baseline", "restricted")
) -> RenderedChart:
    """The Pod Security Standards of a version, by policy; groups: which of the library's."""
    wanted = frozenset(groups)
    policies = [p for p in library().policies.values() if p.group in ("baseline", "restricted")]
    version = {"podSecurityVersion": f"v1.{minor}"}
    rendered = render(
        form, {p.name: version if "podSecurityVersion" in p.parameters else {} for p in policies}
    )
    return {p.name: rendered[p.name] for p in policies if p.group in wanted}


def compiled(found: Iterable[Resource]) -> tuple[RunnablePolicy, ...]:
    """The policies among some objects, bound by the bindings among them."""
    made = compiled_set(found)
    assert [each.message for each in made.diagnostics] == []
    return made.policies


def judge(policies: Iterable[RunnablePolicy], resource: Resource) -> list[RuleResult]:
    """What policies say of an object that is created; their results name no fields."""
    world = example_world(resource, wants_fields=False)
    return evaluate(tuple(policies), Request(in_namespace(resource)), world)


@cache
def _render(form: str, parameters: str) -> RenderedChart:
    given: dict[str, Body] = json.loads(parameters)
    names = [policy.name for policy in library().policies.values()]
    settings: Body = {name: {"enabled": name in given} for name in names}
    for name, values in given.items():
        settings[name] = {"enabled": True, "parameters": values}
    values = {"policyType": form, "kyvernoVersion": "1.19", "policies": settings}
    made = render_chart(_chart(), [values], namespace="kyverno", kube_version="v1.36.0")
    found: dict[str, list[Resource]] = {name: [] for name in given}
    for each in made.resources:
        if each.api_version.partition("/")[0] in _POLICY_GROUPS:
            found[Path(each.location.file).stem].append(each)
    return MappingProxyType({name: tuple(each) for name, each in found.items()})


@cache
def _chart() -> ChartPlan:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "chartkit.yaml").write_text(_PROJECT)
        named = [f"    {each.reference}: {{}}\n" for each in library().policies.values()]
        (Path(folder) / "all.yaml").write_text(_PROFILE + "".join(named))
        return plan(read_project(Path(folder)))
