"""The policies of an environment, from the project's charts on disk, for scans of other objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chartkit.charts.plan import ENGINE, POLICIES
from chartkit.charts.policies import chart as policies_chart
from chartkit.charts.policies.installed import InstalledPolicy
from chartkit.kyverno.controllers import allows_http
from chartkit.model import Body, Resource
from chartkit.project.environment import Environment
from chartkit.project.project import Project
from chartkit.render.compare.sides import written_chart
from chartkit.render.exceptions import NO_EXCEPTIONS, ShippedExceptions, shipped_exceptions
from chartkit.scan.configuration import configuration
from chartkit.scan.environment import ProjectEnvironment


def project_exceptions(project: Project, environment: Environment) -> ShippedExceptions:
    """Return the exceptions of an environment, in the kinds of its policies; raise InputError."""
    found = NO_EXCEPTIONS

    def exceptions_of(each: Environment, policies: Mapping[str, InstalledPolicy]) -> Sequence[Body]:
        nonlocal found
        if each.name == environment.name:
            found = shipped_exceptions(each, policies)
        return ()

    policies_chart.plan(project, exceptions_of)
    return found


def project_environment(project: Project, environment: Environment) -> ProjectEnvironment:
    """Render an environment's charts; raise InputError where they were not written, RenderError
    where they do not render."""
    policies = written_chart(project.charts / POLICIES, environment)
    engine: Sequence[Resource] = ()
    if environment.engine:
        engine = written_chart(project.charts / ENGINE, environment).resources
    config, _ = configuration(engine)

    return ProjectEnvironment(
        name=environment.name,
        resources=policies.resources,
        configuration=config,
        kube_version=environment.kube_version,
        api_versions=tuple(api for api, is_there in environment.apis.items() if is_there),
        allows_http=allows_http(engine),
        suppressions=environment.suppressions,
        sources=(project.charts / POLICIES, project.charts / ENGINE),
        engine=engine,
    )
