"""Policies as the policies chart renders them where its values say nothing of them, without Helm.

A scan with a built-in profile needs no more. What a project's values say of its policies
(exclusions, actions, annotations) is up to the chart's templates, of which `_policy.tpl`,
`_fields.tpl`, `_cel.tpl` and `_vap.tpl` are followed here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from chartkit import bundled
from chartkit.documents.reader import Document, Source, read_source
from chartkit.errors import InputError
from chartkit.kyverno import policy_fields, releases
from chartkit.kyverno.matrix import kube_version_range, matrix
from chartkit.kyverno.policy_fields import Field, extends_to_controllers
from chartkit.kyverno.versions import Version, parse_version
from chartkit.library.forms import VALIDATING, cleans
from chartkit.library.parameters import check_for_policy, filled_documents
from chartkit.library.policies import (
    METADATA_FILE,
    PARAMETERS_FILE,
    POLICY_FILE,
    FolderPolicy,
    Library,
    read_library,
    read_policy,
    read_shared_parameters,
    vendored_libraries,
)
from chartkit.library.profiles import Selection, read_profile, resolve, with_parameters
from chartkit.library.templating import placed
from chartkit.model import Body, Json, Location, Resource, mapping_at, mappings_at
from chartkit.project.settings import PolicyType

_CHART: Final = "kyverno-policies"
_ANNOTATION: Final = "policies.kyverno.io/"
_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_EPHEMERAL: Final = "ephemeralContainers"
_NO_SELECTORS: Final = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_GROUPS: Final = {"ReplicationController": "", "CronJob": "batch", "Job": "batch"}
_WITH_TEMPLATE: Final = (
    *("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"),
)
_AUTOGEN: Final = frozenset({*_WITH_TEMPLATE, "CronJob"} - {"ReplicationController"})
_OF_ADMISSION: Final = (
    *("failurePolicy", "matchConstraints", "matchConditions"),
    *("variables", "validations", "auditAnnotations"),
)


def filled_profile(
    name: str, parameters: Mapping[str, Json], form: PolicyType
) -> Iterator[Resource]:
    """Yield the policies of a built-in profile, in the order of the chart's templates; parameters:
    values by name, or by policy and name (`disallow-latest-tag.tags`). Raise InputError."""
    profile, root = read_profile(name, Path()), bundled.library_dir()
    # The policies that the profile names, without the rest of their library.
    shared = read_shared_parameters(root, False)
    policies: dict[str, FolderPolicy] = {}
    waiting = [profile]
    while waiting:
        current = waiting.pop()
        waiting += current.extends
        for reference in current.spec.get("policies", {}):
            group = reference.rpartition("/")[0]
            policy = read_policy(root / reference, group, shared, bundled.LIBRARY, False)
            policies[policy.qualified] = policy
    library = Library(policies)
    # Which policies have a parameter is asked of the whole library.
    if parameters:
        library = read_library([root], {}, vendored_libraries(Path()))
    selection = with_parameters(resolve([profile], library), parameters, library)
    return fill(selection, form, releases.current().app_version.removeprefix("v"))


def fill(selection: Selection, form: PolicyType, kyverno: str) -> Iterator[Resource]:
    """Yield the enabled policies of a selection that consists of policy folders and changes no
    action, for a version of Kyverno. Raise InputError for parameters unfit for one of them, and for
    a Kyverno that is too old for it."""
    version = parse_version(kyverno, "Kyverno")
    enabled = (entry for entry in selection.policies.values() if entry.enabled)
    for given in sorted(enabled, key=lambda item: (item.policy.group, f"{item.policy.name}.yaml")):
        policy = given.policy
        if not isinstance(policy, FolderPolicy):
            raise InputError("is filled in by Helm alone", Location(policy.template.file))
        general = {key: v for key, v in selection.parameters.items() if key in policy.parameters}
        for key, value in general.items():
            check_for_policy(key, value, policy, given.location)
        values = policy.defaults | general | dict(given.parameters)
        if policy.library == bundled.LIBRARY:
            policy = replace(
                policy, template=_shown(policy.template), cel=policy.cel and _shown(policy.cel)
            )
        yield from _Filling(policy, values, form, kyverno, version).objects()


def _shown(source: Source) -> Source:
    return source._replace(file=bundled.short_name(source.file))


def filled_folder(
    folder: Path, parameters: Mapping[str, Json], form: PolicyType
) -> Iterator[Resource]:
    """Yield the policy of a folder of a library, with the defaults of the parameters that are not
    given: by name, for policies that have them, or by policy and name. Raise InputError."""
    policy = _policy_in(folder)
    values = dict(policy.defaults)
    for key, value in parameters.items():
        reference, _, name = key.rpartition(".")
        if reference == policy.name or (not reference and name in policy.parameters):
            check_for_policy(name, value, policy, None)
            values[name] = value
    kyverno = releases.current().app_version.removeprefix("v")
    version = parse_version(kyverno, "Kyverno")
    yield from _Filling(policy, values, form, kyverno, version).objects()


def default_documents(file: Path) -> list[Document]:
    """Return the documents of policy.yaml or cel.yaml in a folder of a library, at the defaults of
    its parameters; raise InputError."""
    policy = _policy_in(file.parent)
    source = policy.template if file.name == POLICY_FILE else policy.cel
    return filled_documents(policy, source) if source else []


def _policy_in(folder: Path) -> FolderPolicy:
    """Return the policy of a folder, with the shared parameters of the library around it."""
    above = (root for root in folder.absolute().parents if (root / PARAMETERS_FILE).is_file())
    has_shared = "sharedParameters" in read_source(folder / METADATA_FILE)
    root = next(above, folder) if has_shared else folder
    return read_policy(folder, shared=read_shared_parameters(root))


class _Filling(NamedTuple):
    """A policy with its parameters, in a form, for a Kyverno."""

    policy: FolderPolicy
    values: Mapping[str, Json]
    form: PolicyType
    kyverno: str
    version: Version

    def objects(self) -> Iterator[Resource]:
        """Yield the objects of the policy, with the places of their fields in its files."""
        form = self.form
        cel = [] if form is PolicyType.CLUSTER else self._read(self.policy.cel)
        if form is PolicyType.ADMISSION and cel:
            from chartkit.kyverno.cel_literals import kyverno_call

            if cel[0]["kind"] != VALIDATING:
                form = PolicyType.CLUSTER
            elif any(map(kyverno_call, cel)):
                is_served = self.version >= policy_fields.KINDS[VALIDATING][0].since
                form = PolicyType.VALIDATING if is_served else PolicyType.CLUSTER
        if form in (PolicyType.CLUSTER, PolicyType.BOTH) or self.policy.cel is None:
            for body in self._read(self.policy.template):
                yield placed(_sorted(self._cluster_policy(body)), self.policy.template)
        if form is PolicyType.BOTH:
            cel = [body for body in cel if body["kind"] == VALIDATING]
        if form is not PolicyType.CLUSTER and self.policy.cel is not None:
            for body in cel:
                for part in self._in_cel(body, form):
                    yield placed(_sorted(part), self.policy.cel)

    def _read(self, source: Source | None) -> list[Body]:
        if source is None:
            return []
        documents = filled_documents(self.policy, source, self.values)
        return [document.body for document in documents if document.body]

    def _cluster_policy(self, body: Body) -> Body:
        policy, version = self.policy, self.version
        if version < policy.minimum_kyverno:
            message = f"policy {policy.name} needs Kyverno {policy.minimum_kyverno}, and this is "
            raise InputError(message + self.kyverno, Location(policy.template.file))
        self._describe(body, policy.minimum_kyverno)
        if cleans(body):
            return body
        spec = body["spec"]
        spec["background"] = spec.get("background") is not False
        spec["failurePolicy"] = "Fail"
        action = "Audit" if version >= Version(1, 9) else "audit"
        for rule in spec["rules"]:
            rule_preconditions = rule.get("preconditions")
            if isinstance(rule_preconditions, list):
                preconditions: Body = {"all": rule_preconditions} if rule_preconditions else {}
            else:
                given = rule_preconditions or {}
                any_of = given.get("any") or []
                all_of = [*(given.get("all") or ()), *(any_of if len(any_of) == 1 else ())]
                blocks = {"all": all_of, "any": any_of if len(any_of) > 1 else []}
                preconditions = {
                    key: conditions for key, conditions in blocks.items() if conditions
                }
            if preconditions:
                rule["preconditions"] = preconditions
            if rule.get("validate"):
                rule["validate"]["allowExistingViolations"] = True
                if version >= Version(1, 13):
                    rule["validate"]["failureAction"] = action
        spec["validationFailureAction"] = action
        self._apply_fields(spec, policy_fields.fields())
        return body

    def _describe(self, body: Body, minimum: Version) -> None:
        policy, chart = self.policy, releases.current().chart_version
        metadata = body["metadata"]
        metadata["labels"] = {
            **metadata.get("labels", {}),
            "app.kubernetes.io/component": "kyverno",
            "app.kubernetes.io/instance": "release",
            "app.kubernetes.io/managed-by": "Helm",
            "app.kubernetes.io/name": _CHART,
            "app.kubernetes.io/part-of": _CHART,
            "app.kubernetes.io/version": chart,
            "helm.sh/chart": f"{_CHART}-{chart}",
        }
        metadata["annotations"] = {
            f"{_ANNOTATION}title": policy.title,
            f"{_ANNOTATION}category": policy.category,
            f"{_ANNOTATION}severity": policy.severity,
            f"{_ANNOTATION}subject": ",".join(policy.subject),
            f"{_ANNOTATION}description": policy.description,
            f"{_ANNOTATION}minversion": f"{minimum}.0",
            **metadata.get("annotations", {}),
            "kyverno.io/kyverno-version": self.kyverno,
            "kyverno.io/kubernetes-version": kube_version_range(matrix()),
        }

    def _apply_fields(self, spec: Body, fields: Iterable[Field]) -> None:
        """Write the defaults of fields out, and take out what the Kyverno does not have."""
        for field in fields:
            is_known = self.version >= field.since
            if not is_known or field.default is not None:
                self._apply_field(spec, field.path, field, is_known)

    def _apply_field(self, node: Json, path: Sequence[str], field: Field, is_known: bool) -> None:
        step, *rest = path
        if step == "*":
            items = node.values() if isinstance(node, dict) else node
            for item in items if isinstance(node, dict | list) else ():
                self._apply_field(item, rest, field, is_known)
        elif not isinstance(node, dict):
            return
        elif rest:
            self._apply_field(node.get(step), rest, field, is_known)
        elif step not in node:
            if is_known:
                node[step] = deepcopy(field.default)
        elif not is_known:
            if not field.optional and (field.without is None or node[step] != field.without):
                message = (
                    f"policy {self.policy.name}: spec.{field.text} needs Kyverno {field.since}"
                )
                raise InputError(message, Location(self.policy.template.file))
            del node[step]

    def _in_cel(self, body: Body, form: PolicyType) -> Iterator[Body]:
        """Yield what a policy in CEL is in a form; it stands beside the ClusterPolicy in `both`."""
        kind = body["kind"]
        of_pods = extends_to_controllers(body)
        self._describe(body, policy_fields.minimum_version(body)[0])
        spec = body["spec"]
        settings = policy_fields.settings()[kind]
        fields = {key for key, since in settings.items() if self.version >= since}
        if form is PolicyType.ADMISSION:
            spec["failurePolicy"] = "Fail"
            yield from _admission(body, of_pods)
            return
        served = [item.version for item in policy_fields.KINDS[kind] if self.version >= item.since]
        if not served:
            message = f"policy {self.policy.name}: Kyverno {self.kyverno} does not serve {kind}"
            raise InputError(message, Location(self.policy.template.file))
        body["apiVersion"] = f"{policy_fields.GROUP}/{served[-1]}"
        if "failurePolicy" in fields:
            spec["failurePolicy"] = "Ignore" if form is PolicyType.BOTH else "Fail"
        if "background" in fields:
            evaluation = spec.setdefault("evaluation", {})
            background = evaluation.setdefault("background", {})
            background["enabled"] = background.get("enabled") is not False
        self._apply_fields(spec, policy_fields.cel_fields()[kind])
        if "action" in fields:
            spec["validationActions"] = ["Audit"]
        yield body
        operations = _first_rule(spec).get("operations", ())
        if (
            of_pods
            and kind == VALIDATING
            and _EPHEMERAL in json.dumps(spec)
            and "UPDATE" in operations
        ):
            # Requests that add ephemeral containers are at a subresource.
            body = deepcopy(body)
            body["metadata"]["name"] += "-ephemeral"
            spec = body["spec"]
            rule = {"resources": ["pods/ephemeralcontainers"], "operations": ["UPDATE"]}
            _first_rule(spec).update(rule)
            spec["evaluation"]["background"] = {"enabled": False}
            spec.pop("autogen", None)
            yield body


def _first_rule(spec: Body) -> Body:
    rules = mappings_at(mapping_at(spec, "matchConstraints"), "resourceRules")
    return rules[0] if rules else {}


def _admission(body: Body, of_pods: bool) -> Iterator[Body]:
    """Yield a policy as Kubernetes' own with its binding: one for Pods, and for controllers."""
    controllers = mapping_at(body["spec"], "autogen", "podControllers").get("controllers")
    kinds = [*_WITH_TEMPLATE, "CronJob"]
    if controllers is not None:
        kinds = [kind for kind in kinds if kind in _AUTOGEN and _plural(kind) in controllers]
    body |= {"apiVersion": _ADMISSION, "kind": "ValidatingAdmissionPolicy"}
    body["metadata"]["annotations"].pop(f"{_ANNOTATION}minversion")
    body["spec"] = spec = {key: body["spec"][key] for key in _OF_ADMISSION if key in body["spec"]}
    spec["matchConstraints"] = {**_NO_SELECTORS, **spec["matchConstraints"]}
    for key in ("resourceRules", "excludeResourceRules"):
        for rule in mappings_at(spec["matchConstraints"], key):
            rule.setdefault("scope", "*")
    extended = list(_extended(body, kinds)) if of_pods else []
    if of_pods and _EPHEMERAL in json.dumps(spec):
        _first_rule(spec)["resources"] = ["pods", "pods/ephemeralcontainers"]
    for policy in (body, *extended):
        metadata = policy["metadata"]
        yield policy
        yield {
            "apiVersion": _ADMISSION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {key: metadata[key] for key in ("name", "labels", "annotations")},
            "spec": {"policyName": metadata["name"], "validationActions": ["Audit", "Warn"]},
        }


def _extended(body: Body, kinds: Sequence[str]) -> Iterator[Body]:
    """Yield a policy of Pods for the controllers with a Pod template, and for CronJobs."""
    others = [kind for kind in kinds if kind != "CronJob"]
    jobs = [kind for kind in kinds if kind == "CronJob"]
    for suffix, path, names in (
        ("-controllers", "spec.template", others),
        ("-cronjobs", "spec.jobTemplate.spec.template", jobs),
    ):
        if not names:
            continue
        text = json.dumps(body)
        for root in ("object", "oldObject"):
            for field in ("spec", "metadata"):
                text = text.replace(f"{root}.{field}", f"{root}.{path}.{field}")
            namespace = rf"\b{root}\.{re.escape(path)}\.metadata\.namespace\b"
            text = re.sub(namespace, f"{root}.metadata.namespace", text)
        policy = json.loads(text)
        policy["metadata"]["name"] += suffix
        operations = _first_rule(body["spec"]).get("operations")
        policy["spec"]["matchConstraints"]["resourceRules"] = [
            {
                "apiGroups": [group],
                "apiVersions": ["v1"],
                "operations": operations,
                "resources": resources,
                "scope": "*",
            }
            for group in ("", "apps", "batch")
            if (resources := [_plural(n) for n in names if _GROUPS.get(n, "apps") == group])
        ]
        yield policy


def _plural(kind: str) -> str:
    return f"{kind.lower()}s"


def _sorted(node: Json) -> Json:
    """Return a value with its keys in the order in which Helm writes them."""
    if isinstance(node, dict):
        return {key: _sorted(node[key]) for key in sorted(node)}
    return [_sorted(item) for item in node] if isinstance(node, list) else node
