"""The policies chart: policies of the library, each with everything that values can say of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chartkit import bundled
from chartkit.charts.plan import (
    POLICIES,
    README_FILE,
    ChartPlan,
    chart_annotations,
    chart_fields,
    chart_version,
    layered,
    member,
    values_file,
)
from chartkit.charts.policies.installed import InstalledPolicy, installed
from chartkit.charts.policies.template_context import GUARDS_FILE, guard_templates, policy_context
from chartkit.charts.policies.values import (
    base_values,
    environment_text,
    environment_values,
    readme,
    values_text,
)
from chartkit.charts.policies.values_schema import (
    SCHEMA_FILE,
    Catalogue,
    dump_json,
    is_standard,
    require_no_overlap,
    values_schema,
)
from chartkit.charts.rbac import permissions
from chartkit.errors import InputError
from chartkit.helm.render import render_chart
from chartkit.kyverno import policy_fields, releases
from chartkit.kyverno.cel_literals import kyverno_call
from chartkit.kyverno.matrix import (
    ADMISSION_POLICIES,
    CLUSTERS_ANNOTATION,
    admission_policies,
    kube_version_range,
    matrix,
)
from chartkit.kyverno.versions import Version
from chartkit.library.forms import VALIDATING
from chartkit.library.policies import (
    FolderPolicy,
    Library,
    LibraryPolicy,
    read_library,
    upstream_library,
    vendored_libraries,
)
from chartkit.library.profiles import (
    ResolvedPolicy,
    Selection,
    read_profile,
    require_same,
    resolve,
    resolve_environments,
    resolve_project,
    with_parameters,
)
from chartkit.library.rendered import RenderedPolicy, read_templates
from chartkit.library.templating import render_text, render_tree
from chartkit.library.upstream import UpstreamPolicy
from chartkit.model import Body, Json, Resource
from chartkit.project.environment import Environment
from chartkit.project.project import FILE_NAME, UPSTREAM, ChartMetadata, Project, read_project
from chartkit.project.settings import PolicyType

_UNSAFE = re.compile(r"[^\w.-]+")
_CEL_FROM = Version(1, 17)
"""From this Kyverno on, policies are in CEL by default."""
_CLUSTER_POLICIES = frozenset({"ClusterPolicy", "Policy"})
_AS_CLUSTER_POLICY = frozenset({PolicyType.CLUSTER, PolicyType.BOTH})
_PROFILES_ANNOTATION = "chartkit/profiles"
_HEADER = "Written by chartkit render; values.schema.json checks it. Edits are kept."


def read_libraries(project: Project | None = None) -> Library:
    """The built-in policy library, a project's own and its vendored ones; raises InputError."""
    if project is None:
        return read_library([bundled.library_dir()])
    own = project.library
    named_at = {folder: project.locate("library", at) for at, folder in enumerate(own)}
    vendored = [*map(upstream_library, own), *vendored_libraries(project.root)]
    return read_library([bundled.library_dir(), *own], named_at, vendored)


ExceptionsOf = Callable[[Environment, Mapping[str, InstalledPolicy]], Sequence[Body]]
"""From an environment and its policies by name to the PolicyExceptions that its chart installs."""


def plan(project: Project, exceptions_of: ExceptionsOf = lambda *_: ()) -> ChartPlan:
    """The policies chart of a project, for all its environments. Chart.yaml admits every Kubernetes
    version that one of the environments' Kyvernos supports. Raises InputError for what the project,
    its profiles or its policies say wrong."""
    library = read_libraries(project)
    base = resolve_project(project, library)
    resolved = resolve_environments(project, library)
    chart = _Chart(library, [base, *resolved.values()])
    for name, environment in project.environments.items():
        chart.require_versions(environment, resolved[name])
    catalogue, schema = chart.catalogue, chart.schema
    values = base_values(catalogue, base, schema)
    files = {"values.yaml": _values_text(chart, values, base)}
    own = {
        name: environment_values(environment, catalogue, resolved[name], values, schema)
        | _exceptions(exceptions_of(environment, chart.installed(environment, resolved[name])))
        for name, environment in project.environments.items()
    }
    for name, body in layered(own).items():
        first = member(name, project.environments)
        header = f"{_about(name, project.environments[first])}.\n{_HEADER}"
        files[values_file(name)] = environment_text(resolved[first], body, schema, header)
    environments = project.environments.values()
    admission = all(environment.policy_type is PolicyType.ADMISSION for environment in environments)
    least = ADMISSION_POLICIES if admission else None
    data = next(iter(environments)).versions
    accepted = [item.kubernetes for item in environments if item.is_unsupported]
    clusters = kube_version_range([item.kyverno for item in environments], least, data, accepted)
    made = chart.files(base, values, clusters, project.metadata)
    cluster_policies = {
        name: tuple(chart.cluster_policies(environment, resolved[name]))
        for name, environment in project.environments.items()
    }
    return ChartPlan(POLICIES, made, files, chart.policies, resolved, cluster_policies)


def plan_for_profile(reference: str, parameters: Mapping[str, Json]) -> ChartPlan:
    """The policies of one profile, without a project.

    reference: a built-in profile, or a file's path; its policies are those of the
    project that the file stands in, or the built-in ones and those in the vendor/ here;
    parameters: values by name, or by policy and name (`disallow-latest-tag.tags`). Raises
    InputError.
    """
    root = Path()
    file = Path(reference)
    folders = file.resolve().parents if file.is_file() else ()
    path = next((folder for folder in folders if (folder / FILE_NAME).is_file()), None)
    project = None if path is None else read_project(path)
    built_in = [bundled.library_dir()]
    library = (
        read_library(built_in, {}, vendored_libraries(root))
        if project is None
        else read_libraries(project)
    )
    profile = read_profile(reference, root)
    resolved = with_parameters(resolve([profile], library), parameters, library)
    chart = _Chart(library, [resolved])
    values = base_values(chart.catalogue, resolved, chart.schema)
    files = chart.files(resolved, values, kube_version_range(matrix()))
    return ChartPlan(POLICIES, files, {"values.yaml": _values_text(chart, values, resolved)})


def render_profile(
    reference: str, parameters: Mapping[str, Json], policy_type: PolicyType = PolicyType.CLUSTER
) -> tuple[Resource, ...]:
    """The policies of one profile in a form; see `plan_for_profile`. There is no environment whose
    Kyverno could settle the form, and ClusterPolicy names each rule in what it says."""
    values = {"policyType": policy_type.value}
    return render_chart(plan_for_profile(reference, parameters), [values]).resources


class _Chart:
    """The parts of the chart that all environments share."""

    def __init__(self, library: Library, resolved: Sequence[Selection]) -> None:
        # The policies of the chart: those that the project names, and the whole Pod Security
        # Standards, so that podSecurityStandard means what it says. A named policy replaces the
        # standard's policy of the same name. Raises InputError for two policies of one name.
        named: dict[str, ResolvedPolicy] = {}
        for selection in resolved:
            for name, given in selection.policies.items():
                require_same(named.setdefault(name, given), given.policy, given.location)
        carried = [given.policy for given in named.values()]
        standard_policies = [policy for policy in library.policies.values() if is_standard(policy)]
        carried += [policy for policy in standard_policies if policy.name not in named]
        self.policies = policies = tuple(sorted(carried, key=lambda policy: policy.reference))
        self._templates = read_templates(policies)
        rules = {policy.policy.name: policy.rules for policy in self._templates}
        cel = {policy.policy.name: policy.cel_kind for policy in self._templates if policy.cel_kind}
        standards = {policy.name: policy.group for policy in standard_policies}
        standing = {policy.name: standards.get(policy.name, policy.group) for policy in policies}
        standing |= {
            entry.name: entry.group for entry in policies if isinstance(entry, FolderPolicy)
        }
        self.catalogue = Catalogue(policies, rules, cel, standing)
        self.schema = values_schema(self.catalogue)

    def require_versions(self, environment: Environment, resolved: Selection) -> None:
        """Raises InputError where an environment's Kyverno or cluster is too old for a policy."""
        form = self._policy_type(environment)
        if form is PolicyType.ADMISSION:
            for diagnostic in admission_policies(
                environment.kubernetes, environment.locate_policy_type()
            ):
                raise InputError(diagnostic.message, diagnostic.location, diagnostic.hint)
        late = [
            (policy, needed)
            for policy in self._templates
            for needed in [_minimum(policy, form)]
            if needed > environment.kyverno
            and policy.policy.name in resolved.policies
            and resolved.policies[policy.policy.name].enabled
        ]
        if not late:
            return
        template, needed = late[0]
        name = template.policy.name
        more = f" (and {len(late) - 1} more)" if len(late) > 1 else ""
        message = (
            f"policy '{name}'{more} needs Kyverno {needed}, and environment '{environment.name}' "
            f"has {environment.kyverno}"
        )
        if needed > template.policy.minimum_kyverno:
            message += ", in its form in CEL"
            location, hint = environment.locate_policy_type(), "say policyType: ClusterPolicy there"
        else:
            location = environment.locate("kyverno")
            hint = f"leave it out there: policies: {{{name}: {{enabled: false}}}}"
        raise InputError(message, location, hint)

    def cluster_policies(self, environment: Environment, resolved: Selection) -> Iterator[Resource]:
        """Yield the policies of an environment that come as ClusterPolicy or Policy, at their
        defaults. Raise InputError for actions of namespaces that these cannot hold."""
        form = self._policy_type(environment)
        for template in self._templates:
            given = resolved.policies.get(template.policy.name)
            if given is None or not given.enabled or not template.bodies:
                continue
            if form in _AS_CLUSTER_POLICY or not template.cel_bodies:
                actions = (*resolved.actions, *given.actions)
                require_no_overlap(actions, template.policy.name)
                body = template.bodies[0]
                if body.get("kind") in _CLUSTER_POLICIES:
                    yield Resource(body, given.location)

    def installed(
        self, environment: Environment, resolved: Selection
    ) -> Mapping[str, InstalledPolicy]:
        """Return the policies of an environment as the chart installs them, by name."""
        form = self._policy_type(environment)
        policies: dict[str, InstalledPolicy] = {}
        for template in self._templates:
            given = resolved.policies.get(template.policy.name)
            if given is not None and given.enabled:
                actions = (*resolved.actions, *given.actions)
                action = given.action or environment.action
                policies[template.policy.name] = installed(
                    template, form, environment.kyverno, action, actions
                )
        return policies

    def _policy_type(self, environment: Environment) -> PolicyType:
        """The form that an environment's policies get, as the chart's templates settle it."""
        given = environment.policy_type or self.schema["properties"]["policyType"]["default"]
        if given:
            return PolicyType(given)
        return PolicyType.VALIDATING if environment.kyverno >= _CEL_FROM else PolicyType.CLUSTER

    def files(
        self,
        resolved: Selection,
        values: Body,
        kube_version: str,
        metadata: ChartMetadata = UPSTREAM,
    ) -> dict[str, str]:
        source = bundled.chart_source_dir(POLICIES)
        profiles = ",".join(resolved.profiles)
        annotations = {CLUSTERS_ANNOTATION: kube_version, _PROFILES_ANNOTATION: profiles}
        context: dict[str, Any] = {
            "chart": {"name": POLICIES},
            "version": chart_version(metadata),
            "app_version": releases.current().app_version,
            "kube_version": kube_version,
            "profiles": resolved.profiles,
            "metadata": chart_fields(POLICIES, metadata) + chart_annotations(POLICIES, annotations),
        }
        files = render_tree(source / "chart", context)
        files["data/policies.json"] = _json_lines(self.catalogue.names)
        files["data/fields.json"] = _json_lines(policy_fields.as_json())
        files["data/cel.json"] = json.dumps(policy_fields.cel_as_json(), indent=1) + "\n"
        needed = {template.policy.name: _permissions(template) for template in self._templates}
        needed = {name: forms for name, forms in needed.items() if forms}
        files["data/permissions.json"] = json.dumps(needed, indent=1) + "\n"
        files[SCHEMA_FILE] = dump_json(self.schema)
        files[README_FILE] = readme(self.catalogue, values, self.schema)
        template = source / "policy.yaml.j2"
        text = template.read_text("utf-8")
        for policy in self._templates:
            group = self.catalogue.standing.get(policy.policy.name, "")
            context = policy_context(policy, group)
            files[template_file(policy.policy)] = render_text(text, context, str(template))
        guards = guard_templates(self._templates, files)
        return files | ({GUARDS_FILE: guards} if guards else {})


def _values_text(chart: _Chart, values: Body, resolved: Selection) -> str:
    header = f"Values of the profiles {', '.join(resolved.profiles)}.\n{_HEADER}"
    return values_text(values, resolved, chart.schema, header)


def _exceptions(bodies: Sequence[Body]) -> Body:
    return {"exceptions": list(bodies)} if bodies else {}


def _about(name: str, environment: Environment) -> str:
    """Return the heading of a values file, and the files that it differs from."""
    if name != environment.name:
        return f"Environment {name}: what its clusters say alike, otherwise than values.yaml"
    what = f"Environment {environment.name}"
    below = "values.yaml"
    if environment.cluster:
        what = f"Cluster {environment.cluster} of the environment {environment.group}"
        what += f" ({environment.region})" if environment.region else ""
        below = environment.values_files[0]
    kubernetes = f"{'EKS' if environment.eks else 'Kubernetes'} {environment.kubernetes}"
    return (
        f"{what}, Kyverno {environment.kyverno} on {kubernetes}: what it says otherwise than "
        f"{below}"
    )


def template_file(policy: LibraryPolicy) -> str:
    """Return the path of a policy's template in the chart."""
    folder = policy.group or "policies"
    if isinstance(policy, UpstreamPolicy):
        folder = _UNSAFE.sub("-", policy.library)
    return f"templates/{folder}/{policy.name}.yaml"


def _permissions(template: RenderedPolicy) -> Body:
    """Return the permissions that Kyverno's controllers need for a policy, by its form; at its
    defaults and at all its examples' parameters."""
    is_upstream = isinstance(template.policy, UpstreamPolicy)
    cel = template.bodies if is_upstream else template.cel_bodies
    forms = {"clusterPolicy": template.bodies, "cel": cel}
    definitions = permissions.definitions_beside(template.policy.folder)
    needed = {
        form: permissions.as_json(permissions.needs(bodies, definitions))
        for form, bodies in forms.items()
    }
    return needed if any(needed.values()) else {}


def _minimum(template: RenderedPolicy, form: PolicyType) -> Version:
    """The oldest Kyverno that serves a policy in a form."""
    if form is PolicyType.VALIDATING and template.cel_bodies:
        return max(policy_fields.minimum_version(body)[0] for body in template.cel_bodies)
    if form is PolicyType.BOTH and template.cel_kind == VALIDATING:
        return max(template.policy.minimum_kyverno, _minimum(template, PolicyType.VALIDATING))
    if form is PolicyType.ADMISSION and template.cel_kind == VALIDATING:
        asks = any(map(kyverno_call, template.cel_bodies))
        return template.policy.minimum_kyverno if asks else policy_fields.OLDEST
    return template.policy.minimum_kyverno


def _json_lines(items: Sequence[Json]) -> str:
    """A JSON list, an item a line."""
    lines = ",\n".join(f"  {json.dumps(item, ensure_ascii=False)}" for item in items)
    return f"[\n{lines}\n]\n"
