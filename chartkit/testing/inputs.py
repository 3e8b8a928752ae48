"""The inputs of a test, loaded from the files that it names, and the answers of policies for each
of its objects, as Kyverno's test command has them.

There is one answer for each policy, phase and form (a CEL policy has one more for each kind of Pod
controller). Empty answers follow Kyverno's `PolicyProcessor` and `applyDeletingPolicies`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from chartkit.documents.reader import Document
from chartkit.engine import Phase, PolicyResponse, Request, RunnablePolicy, User, World, respond
from chartkit.engine.cel_policies.policy import CelPolicy
from chartkit.engine.cli_files.admissions import NO_CONTEXT, Admissions, UserValues
from chartkit.engine.cli_files.user_files import (
    CLUSTER_RESOURCES,
    decoded,
    read_context,
    read_user_info,
    read_values,
)
from chartkit.engine.cli_files.world import (
    ObjectApi,
    UserApi,
    UserGlobalContext,
    UserImages,
    UserMocks,
)
from chartkit.engine.cluster_policy.policy import Policy, RuleKind
from chartkit.engine.kubernetes.kinds import KYVERNO_KINDS, CelKind, kind_of
from chartkit.engine.ports.services import Cluster, labels_of
from chartkit.errors import InputError
from chartkit.model import Body, Location, Resource, RuleResult
from chartkit.network.verifiers import blob_verifier
from chartkit.testing.model import TestFile
from chartkit.testing.sources import Policies, Sources

Key = tuple[str, ...]
"""apiVersion, kind, namespace and name of an object; of a payload the parts of its path."""


@dataclass(frozen=True, slots=True)
class Payload:
    """Plain JSON by the name of its file; None for a request of a kind that is not evaluated."""

    name: str
    resource: Resource | None


@dataclass(frozen=True, slots=True)
class TestInputs:
    """A test's policies and objects, and the user's settings for requests."""

    test: TestFile
    policies: Policies
    resources: tuple[Resource, ...]
    targets: tuple[Resource, ...]
    payloads: tuple[Payload, ...]
    admissions: Admissions
    world: World


def load_inputs(test: TestFile, sources: Sources) -> TestInputs:
    """Load a test; raise ChartkitError for a missing or invalid file."""
    folder = test.folder
    values = test.values or _values(test, sources)
    exceptions = sources.exceptions(_paths(folder, test.exceptions))
    policies = sources.policies(_paths(folder, test.policies), exceptions)
    triggers = _objects(test.folder, test.resources, sources)
    # The first of each group, kind, namespace and name, as Kyverno's test command keeps them.
    unique: dict[tuple[str, str, str, str], Resource] = {}
    for resource in triggers:
        kind = kind_of(resource)
        unique.setdefault((kind.group, kind.kind, resource.namespace, resource.name), resource)
    resources = list(unique.values())
    targets = _objects(folder, test.targets, sources)
    params = _objects(folder, test.params, sources)
    cluster = _cluster_objects(test, sources)
    objects = [*resources, *targets, *params, *cluster]
    is_cluster = bool(test.cluster_resources)
    context = NO_CONTEXT
    if test.context:
        context = read_context(_single(folder / test.context, sources))
    bodies = [*context.resources, *(obj.body for obj in (objects if is_cluster else targets))]
    by_rule = {**_clone_sources(test, policies, sources), **_known(policies, Cluster(bodies))}
    api = UserApi(
        Cluster(obj.body for obj in objects),
        ObjectApi(obj.body for obj in objects) if is_cluster else None,
        [obj.body for obj in objects if obj.kind == "ConfigMap"] if is_cluster else None,
        by_rule,
    )
    world = World(
        api=api,
        images=UserImages(context.images),
        blobs=blob_verifier(),
        global_context=UserGlobalContext(_global_entries(test, sources)),
        mocks=UserMocks(values, test.api_calls, values_answer_calls=not is_cluster),
        wants_fields=any(assertion.field for assertion in test.assertions),
    )
    # With a cluster's own objects, Kyverno takes subresources and labels from them.
    namespaces = {item.name: item.body for item in objects if is_cluster and _is_namespace(item)}
    user: User | None = None
    if test.user_info:
        document = _single(test.folder / test.user_info, sources)
        user = read_user_info(document.body, document.location)
    admissions = Admissions(
        (compiled.policy.name for compiled in policies.compiled),
        replace(values, subresources={}) if is_cluster else values,
        user,
        {name: dict(labels_of(body)) for name, body in namespaces.items()},
        namespaces,
    )
    payloads = (
        *(_payload(folder, name, sources) for name in test.payloads),
        *(Payload(PurePosixPath(name).as_posix(), None) for name in test.other_payloads),
    )
    return TestInputs(test, policies, tuple(resources), tuple(targets), payloads, admissions, world)


def named_files(test: TestFile) -> list[Path]:
    """Return the files and folders that a test names, and its own."""
    names = (
        *(test.policies + test.resources + test.targets + test.params + test.payloads),
        *(test.exceptions + test.cluster_resources),
        *(test.context, test.variables, test.user_info),
        *(name for row in test.expectations for name in (row.patched, *row.generated)),
        *(row.clone_source for row in test.expectations),
    )
    return [test.path, *_paths(test.folder, [*filter(None, names)])]


def _values(test: TestFile, sources: Sources) -> UserValues:
    if not test.variables:
        return UserValues()
    document = _single(test.folder / test.variables, sources)
    return read_values(document.body, document.location)


def _single(path: Path, sources: Sources) -> Document:
    """Return the one document of a file of the command-line program's own kinds."""
    bodies = sources.bodies(path)
    if not bodies:
        raise InputError("is empty", Location(str(path)))
    body = bodies[0]
    if not body.get("apiVersion") or not body.get("kind"):
        hint = "write apiVersion: cli.kyverno.io/v1alpha1 and its kind"
        raise InputError("uses a deprecated schema", Location(str(path)), hint)
    return sources.documents(path)[0]


def _cluster_objects(test: TestFile, sources: Sources) -> list[Resource]:
    resources: list[Resource] = []
    for path in _paths(test.folder, test.cluster_resources):
        document = _single(path, sources)
        location = document.location
        spec = document.body.get("spec") or {}
        if not isinstance(spec, dict) or not isinstance(spec.get("resources") or [], list):
            raise InputError("spec must hold a list of resources", location)
        spec = decoded(document.body, CLUSTER_RESOURCES, "a file", location).get("spec") or {}
        for index, body in enumerate(spec.get("resources") or []):
            at = location.within(f"/spec/resources/{index}")
            if not isinstance(body, dict) or not body.get("kind"):
                raise InputError("each of resources must be an object with a kind", at)
            resources.append(Resource(body, at))
        for crd in spec.get("crds") or []:
            resources.extend(sources.objects(test.folder / str(crd)))
    return resources


def _clone_sources(
    test: TestFile, policies: Policies, sources: Sources
) -> dict[tuple[str, str], Cluster]:
    """The cluster for the generate rules of each policy: only the sources to clone that the first
    expectation for each of them names. Kyverno goes on without a file that it cannot read."""
    clusters: dict[tuple[str, str], Cluster] = {}
    for compiled in policies.compiled:
        policy = compiled.policy
        rules = policy.rules if isinstance(policy, Policy) else ()
        names = [rule.name for rule in rules if rule.kind is RuleKind.GENERATE]
        objects: list[Resource] = []
        for name in names:
            key = policy.key, name
            rows = (row for row in test.expectations if (row.policy, row.rule) == key)
            source = next((row.clone_source for row in rows), "")
            with contextlib.suppress(InputError):
                objects += _objects(test.folder, (source,), sources) if source else []
        cluster = Cluster(resource.body for resource in objects)
        clusters.update(((policy.key, name), cluster) for name in names)
    return clusters


def _known(policies: Policies, cluster: Cluster) -> dict[tuple[str, str], Cluster]:
    """The cluster for Kyverno's CEL policies: objects of the context file, and targets."""
    clusters = {
        (policy.policy.name, ""): cluster
        for policy in policies.compiled
        if isinstance(policy.policy, CelPolicy) and policy.policy.kind in KYVERNO_KINDS
    }
    return {**clusters, **{(cleaner.name, ""): cluster for cleaner in policies.cleaners}}


def _payload(folder: Path, name: str, sources: Sources) -> Payload:
    path = folder / name
    bodies = sources.bodies(path)
    if len(bodies) != 1:
        raise InputError("must hold one mapping", Location(str(path)))
    return Payload(name, Resource(bodies[0], Location(str(path))))


def _global_entries(test: TestFile, sources: Sources) -> list[Body]:
    entries: list[Body] = []
    for entry in test.global_entries:
        files = entry.get("resourceFiles")
        if files is None:
            entries.append(entry)
            continue
        bodies = [
            body for path in _paths(test.folder, tuple(files)) for body in sources.bodies(path)
        ]
        kept = {key: value for key, value in entry.items() if key != "resourceFiles"}
        entries.append({**kept, "resources": bodies})
    return entries


def _paths(folder: Path, names: Sequence[str]) -> list[Path]:
    return [plain_path(folder / name) for name in names]


def plain_path(path: Path) -> Path:
    """Return a path without `..`, so that all tests that name a file name it alike; as it is where
    a link leads elsewhere."""
    if ".." not in path.parts:
        return path
    normal = Path(os.path.normpath(path))
    with contextlib.suppress(OSError):
        return normal if normal.samefile(path) else path
    return path


def _objects(folder: Path, names: Sequence[str], sources: Sources) -> list[Resource]:
    return [resource for path in _paths(folder, names) for resource in sources.objects(path)]


def _is_namespace(resource: Resource) -> bool:
    return resource.kind == "Namespace" and resource.api_version == "v1"


def key_of(resource: Resource) -> Key:
    """The identity of an object."""
    return resource.api_version, resource.kind, resource.namespace, resource.name


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one policy for one object.

    policy: its name; has_rules: whether its results name rules that expectations can select;
    resource, patched: the object before and after mutation; action: the action of a rule, by its
    name.
    """

    policy: str
    has_rules: bool
    resource: Resource
    patched: Resource
    action: Callable[[str], str]
    results: tuple[RuleResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """An existing object that a rule changed; answer: the answer of the rule's policy."""

    result: RuleResult
    resource: Resource
    answer: Answer


Given = Mapping[Key, Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class Answers:
    """triggers: answers for each object, by the operation that expectations name; targets: existing
    objects that were changed."""

    triggers: Mapping[str, Given]
    targets: Mapping[Key, Sequence[Target]]

    def every(self) -> Iterator[Answer]:
        """Yield every answer."""
        for given in self.triggers.values():
            for answers in given.values():
                yield from answers


def ask(inputs: TestInputs) -> Answers:
    """Evaluate a test's policies on its objects, once for every operation."""
    operations = {"", *(wanted.operation for wanted in inputs.test.expectations)}
    triggers: dict[str, dict[Key, list[Answer]]] = {}
    for operation in sorted(operations):
        given = triggers[operation] = {}
        for resource in inputs.resources:
            request = inputs.admissions.request(resource, operation)
            given[key_of(resource)] = _answers(inputs, request, operation)
        for payload in inputs.payloads if not operation else ():
            said: list[Answer] = []
            if payload.resource is not None:
                said = _answers(inputs, Request(payload.resource, is_json=True), operation)
            given[tuple(payload.name.split("/"))] = said
    answers = Answers(triggers, {})
    targets: dict[Key, list[Target]] = {}
    for resource in inputs.targets:
        for answer in answers.every():
            for result in answer.results:
                changed = result.patched_target and Resource(result.patched_target)
                if changed and key_of(changed) == key_of(resource):
                    targets.setdefault(key_of(resource), []).append(Target(result, changed, answer))
                    break
    return replace(answers, targets=targets)


def _answers(inputs: TestInputs, request: Request, operation: str) -> list[Answer]:
    policies = inputs.policies
    responses = [
        response
        for response in respond(policies.compiled, request, inputs.world)
        # Kyverno's program adds no digests for an ImageValidatingPolicy.
        if response.form is None or response.phase is not Phase.IMAGES
    ]
    mutated = [response.patched for response in responses if _is_mutating(response)]
    if (
        mutated
        and (operation or inputs.admissions.values.globals.get("request.operation")) == "DELETE"
    ):
        mutated = [Resource({})]
    answers = [
        Answer(
            response.policy.policy.name,
            response.form is None,
            response.resource,
            # Kyverno shows each MutatingPolicy with what all of them made together.
            mutated[-1] if _is_mutating(response) else response.patched,
            _action_of(response.policy, request),
            _made(response.results),
        )
        for response in responses
        if response.results or not _is_dropped(response, request.is_json)
    ]
    # Nothing is admitted where something is deleted on a schedule.
    for cleaner in policies.cleaners if not operation else ():
        result = cleaner.evaluate(request, inputs.world)
        if result is not None:
            resource = request.resource
            answers.append(
                Answer(cleaner.name, False, resource, resource, lambda _rule: "", (result,))
            )
    return answers


def _action_of(policy: RunnablePolicy, request: Request) -> Callable[[str], str]:
    namespace, labels = request.resource.namespace, request.namespace_labels
    return lambda rule: policy.action(rule, namespace, labels)


def _made(results: tuple[RuleResult, ...]) -> tuple[RuleResult, ...]:
    """Return the results of a policy without what its rules generate, if one of them cannot be
    made: Kyverno's program then has no object of any."""
    if not any(result.unmade for result in results):
        return results
    return tuple(replace(result, generated=()) for result in results)


def _is_mutating(response: PolicyResponse) -> bool:
    return response.form is not None and response.form.kind is CelKind.MUTATING


def _is_dropped(response: PolicyResponse, is_json: bool) -> bool:
    """Report whether Kyverno has no answer for a policy without results; otherwise it has an empty
    one, which shows the object as excluded."""
    form = response.form
    if form is None:
        return response.phase is Phase.GENERATE
    if form.kind in (CelKind.VALIDATING, CelKind.MUTATING):
        # A mutation that failed has left nothing of the object.
        if not (is_json or response.resource.body):
            return True
        if is_json or form.json:
            return True
        # Constraints of a single rule without other restrictions
        only = form.constraints
        if only is None or only.excluded or len(only.rules) != 1 or only.rules[0].names:
            return False
        selectors = (only.namespace_selector, only.object_selector)
        return not any(part and (part.labels or part.expressions) for part in selectors)
    return is_json or form.kind is not CelKind.VALIDATING_ADMISSION
