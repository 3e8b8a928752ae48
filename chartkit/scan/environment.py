"""The policies of an environment of a project, in a scan of any objects, and Kyverno's
configuration among the objects of its chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.engine import NO_ATTACHMENTS, PolicyAttachments, RunnablePolicy, read_exceptions
from chartkit.engine.kubernetes.kinds import in_namespace
from chartkit.kyverno import controllers as kyverno_controllers
from chartkit.model import Resource, RuleResult, mapping_at, mappings_at
from chartkit.report.model import resource_id
from chartkit.scan.gate import VIOLATIONS
from chartkit.scan.policies import PolicySet, compile_all
from chartkit.wording import abridged

if TYPE_CHECKING:
    from chartkit.engine import Configuration  # loads CEL, which most scans do without


Labels = Mapping[str, Mapping[str, str]]
"""The labels of namespaces by name, as far as they are known."""
_VARIABLE: Final = "INIT_CONFIG"


@dataclass(frozen=True, slots=True)
class ProjectEnvironment:
    """An environment's policies and its Kyverno.

    resources: the objects of its charts, of which policies, bindings and exceptions count;
    configuration: of its Kyverno, which keeps objects away from policies;
    kube_version, api_versions: of the cluster, as charts are rendered for it; allows_http: whether
    policies of a namespace may call services; suppressions: whether objects may let findings about
    themselves off; sources: the folders of its charts; attachments: exceptions
    that are not among the resources; engine: the objects of Kyverno's chart, none where another
    chart installs it.
    """

    name: str
    resources: Sequence[Resource]
    configuration: Configuration
    kube_version: str
    api_versions: tuple[str, ...] = ()
    allows_http: bool = False
    suppressions: bool = True
    sources: tuple[Path, ...] = ()
    attachments: PolicyAttachments = NO_ATTACHMENTS
    engine: Sequence[Resource] = ()

    def policies(self, around: PolicyAttachments) -> PolicySet:
        """Compile the policies; around: further exceptions. Raise CompileError for an exception
        that Kyverno refuses."""
        own = read_exceptions(self.resources)
        both = replace(
            around,
            exceptions=(*around.exceptions, *self.attachments.exceptions, *own.exceptions),
            cel_exceptions=(
                *around.cel_exceptions,
                *self.attachments.cel_exceptions,
                *own.cel_exceptions,
            ),
            allows_http=around.allows_http or self.allows_http,
            names=self.attachments.names,
        )
        return compile_all(self.resources, both)


class UnsentObjects:
    """The objects that an environment's Kyverno is not sent, with what its policies would find."""

    def __init__(self, environment: ProjectEnvironment, labels: Labels) -> None:
        self._environment = environment
        self._labels = labels
        self._objects: dict[str, list[str]] = {}
        self._violations: dict[str, int] = {}

    def judged(
        self,
        resource: Resource,
        results: Sequence[RuleResult],
        policies: Mapping[str, RunnablePolicy],
    ) -> Sequence[RuleResult]:
        """Return the results that count: those of the API server alone where Kyverno is not sent
        the object; policies: by their ID."""
        reasons = self._environment.configuration.unsent_with_pods(resource, self._labels)
        if not reasons:
            return results
        why = str(reasons[0])
        left = [result for result in results if policies[result.policy_id].runs_in_api_server]
        self._objects.setdefault(why, []).append(resource_id(resource))
        lost = sum(result.status in VIOLATIONS for result in results)
        lost -= sum(result.status in VIOLATIONS for result in left)
        self._violations[why] = self._violations.get(why, 0) + lost
        return left

    def lines(self) -> Iterator[str]:
        """Yield a line for each reason."""
        for why, objects in self._objects.items():
            what = f"not sent to Kyverno in {self._environment.name}"
            line = f"{what}: {why}: {abridged(objects)}"
            count = self._violations[why]
            if count:
                noun = "violation does" if count == 1 else "violations do"
                line += f"; {count} {noun} not count"
            yield line


def configuration(rendered: Sequence[Resource]) -> tuple[Configuration, str]:
    """Return the configuration in the ConfigMap of the admission controller, and its namespace;
    rendered: the objects of Kyverno's chart, none where the project does not install it."""
    from chartkit.engine import Configuration, read_configuration

    controllers = kyverno_controllers.controllers(rendered)
    name = next((text for controller in controllers for text in config_names(controller)), None)
    for resource in rendered:
        if resource.kind == "ConfigMap" and resource.name == name:
            data = mapping_at(resource.body, "data")
            return read_configuration(data), in_namespace(resource).namespace
    return Configuration(), ""


def config_names(controller: kyverno_controllers.Controller) -> Iterator[str]:
    """Yield the name of the ConfigMap that an admission controller reads."""
    if controller.component != kyverno_controllers.ADMISSION:
        return
    template = ("spec", "template", "spec")
    for container in mappings_at(controller.deployment.body, *template, "containers"):
        for given in mappings_at(container, "env"):
            if given.get("name") == _VARIABLE and isinstance(given.get("value"), str):
                yield given["value"]
