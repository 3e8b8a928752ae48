"""From a filled-in pattern to objects, as Kyverno's background controller writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.budget import Budget, BudgetError, check_object
from chartkit.engine.cluster_policy.foreach import compile_loop, each_element
from chartkit.engine.cluster_policy.handler import Handler
from chartkit.engine.cluster_policy.match import Facts, Predicate
from chartkit.engine.cluster_policy.policy import Match, Policy, Rule
from chartkit.engine.cluster_policy.run import CompiledRule, with_properties
from chartkit.engine.context.context import Context
from chartkit.engine.context.variables import compile_template
from chartkit.engine.kubernetes.kinds import parse_api_version, resource_name
from chartkit.engine.kubernetes.selectors import LabelSelector, read_selector
from chartkit.engine.ports.services import Cluster, ObjectKey, key_of, labels_of
from chartkit.engine.request import Operation, Request
from chartkit.errors import ChartkitError, EvaluationError, NoSource, Reraise, raising
from chartkit.go.fmt import go_sprint
from chartkit.go.strconv import Int64, quote
from chartkit.model import (
    Body,
    Diagnostic,
    Json,
    RuleResult,
    RuleType,
    Severity,
    Status,
    mapping_at,
    same,
    text_of,
)
from chartkit.schemas.kind_selectors import is_version


class Store:
    """A cluster, and the trigger of the rule.

    made: the objects of the rule so far, in order; updated: those that were there before; each as
    the rule last wrote it.
    """

    __slots__ = ("_cluster", "_trigger", "budget", "made", "trigger", "updated")

    def __init__(self, cluster: Cluster, trigger: Body, budget: Budget) -> None:
        self.trigger = trigger
        self.budget = budget
        self._cluster = cluster
        self._trigger = Cluster((trigger,))
        self.made: dict[ObjectKey, Body] = {}
        self.updated: dict[ObjectKey, Body] = {}

    def find(self, key: ObjectKey) -> Body | None:
        """Return the object of a key; None if it does not exist."""
        made = self.made.get(key) or self.updated.get(key)
        return made or self._trigger.find(key) or self._cluster.find(key)

    def select(
        self, api_version: str, kind: str, namespace: str, selector: LabelSelector | None
    ) -> Iterator[Body]:
        """The objects of a kind that were there before the rule ran."""
        own = key_of(self.trigger)
        for body in self._trigger.select(api_version, kind, namespace, selector):
            yield body
        for body in self._cluster.select(api_version, kind, namespace, selector):
            if key_of(body) != own:
                yield body

    def write(self, key: ObjectKey, body: Body) -> None:
        """Create or overwrite an object; fields that only the API server sets stay.

        Raises `BudgetError` for an object that no API server accepts.
        """
        check_object(body, "a generated object")
        there = None if key in self.made else self.find(key)
        if there is None:
            self.made[key] = body
            return
        own = {key: there["metadata"][key] for key in OF_ONE_OBJECT if key in there["metadata"]}
        body = {**body, "metadata": {**body["metadata"], **own}}
        if "status" in there:
            body.setdefault("status", there["status"])
        if not same(body, there):
            self.updated[key] = body


OF_ONE_OBJECT: Final = (
    "uid",
    "selfLink",
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
)
"""Metadata that the API server gives each object."""


_FIELDS: Final = ("apiVersion", "kind", "namespace", "name", "uid", "data", "clone", "cloneList")


@dataclass(frozen=True, slots=True)
class CloneList:
    """The sources of clones: kinds (apiVersion and kind), their namespace, their labels."""

    kinds: tuple[tuple[str, str], ...]
    namespace: str
    selector: LabelSelector | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pattern with its variables filled in.

    target: of cloneList only the namespace counts; source: the object to clone, None for data.
    """

    target: ObjectKey
    data: Body
    source: ObjectKey | None = None
    clone_list: CloneList | None = None


Pattern = Callable[[Context], Wanted]
"""Fills a pattern in; raises EvaluationError."""


def compile_pattern(body: Body) -> Pattern:
    """The pattern that stands in a generate block; what has no variables is read once."""
    fields = {key: body[key] for key in _FIELDS if body.get(key) is not None}
    template = compile_template(fields)
    if not template.is_constant:
        return lambda context: _read(template.resolve(context))
    try:
        wanted = _read(template.value)
    except EvaluationError as error:
        return raising(EvaluationError, error.message)
    return lambda _context: wanted


def _read(fields: Body) -> Wanted:
    target = ObjectKey(*(_text(fields, key) for key in ("apiVersion", "kind", "namespace", "name")))
    clone = _object(fields, "clone")
    name, namespace = _text(clone, "name"), _text(clone, "namespace")
    body = _object(fields, "cloneList")
    kinds = body.get("kinds") or ()
    if not kinds:
        clone_list: CloneList | None = None
    else:
        for kind in kinds:
            if not isinstance(kind, str):
                raise EvaluationError(f"cloneList.kinds must be texts, not {go_sprint(kind)}")
        selector = read_selector(body.get("selector"))
        clone_list = CloneList(tuple(map(split_kind, kinds)), _text(body, "namespace"), selector)
    if name:
        return Wanted(target, {}, target._replace(namespace=namespace, name=name))
    if clone_list is not None:
        return Wanted(target, {}, clone_list=clone_list)
    return Wanted(target, _object(fields, "data"))


def split_kind(text: str) -> tuple[str, str]:
    """`apps/v1/Deployment` as apiVersion and kind; empty where no version is named."""
    api_version, _, kind = text.rpartition("/")
    return (api_version, kind) if is_version(api_version.rpartition("/")[2]) else ("", text)


def _text(body: Body, key: str) -> str:
    value = body.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise EvaluationError(f"{key} must be a text, not {go_sprint(value)}")
    return value


def _object(body: Body, key: str) -> Body:
    value: Json = body.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise EvaluationError(f"{key} must be an object, not {go_sprint(value)}")
    return value


_PREFIX: Final = "generate.kyverno.io/"


def managed_labels(policy: Policy, rule: str, trigger: Body) -> dict[str, str]:
    """Return the labels of a generated object: the policy, the rule and the trigger."""
    return {
        "app.kubernetes.io/managed-by": "kyverno",
        f"{_PREFIX}policy-name": policy.name,
        f"{_PREFIX}policy-namespace": policy.namespace,
        f"{_PREFIX}rule-name": rule,
        **_reference("trigger", trigger),
    }


def _reference(role: str, body: Body) -> dict[str, str]:
    key = key_of(body)
    group, version = parse_api_version(key.api_version)
    uid = mapping_at(body, "metadata").get("uid")
    return {
        f"{_PREFIX}{role}-group": group,
        f"{_PREFIX}{role}-version": version,
        f"{_PREFIX}{role}-kind": key.kind,
        f"{_PREFIX}{role}-namespace": key.namespace,
        f"{_PREFIX}{role}-uid": text_of(uid),
    }


_NOT_CLONED: Final = frozenset(OF_ONE_OBJECT) - {"generation"}


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the objects that a rule generates. synchronize: whether existing objects are
    updated."""

    policy: Policy
    rule: Rule
    synchronize: bool

    def write(self, wanted: Wanted, store: Store) -> None:
        """Generate the objects of a pattern; raises EvaluationError if that fails."""
        if wanted.source is not None:
            self._clone(wanted.source, wanted.target, store)
        elif wanted.clone_list is not None:
            self._clone_all(wanted.clone_list, wanted.target.namespace, store)
        else:
            self._put(wanted.data, wanted.target, store)

    def _clone(self, source: ObjectKey, target: ObjectKey, store: Store) -> None:
        if source[2:] == target[2:]:
            return
        body = store.find(source)
        if body is None:
            group, _ = parse_api_version(source.api_version)
            resource = ".".join(filter(None, (resource_name(source.kind), group)))
            missing = f"{resource} {quote(source.name)} not found"
            raise EvaluationError(f"source resource {'/'.join(target)} not found: {missing}")
        metadata = dict(mapping_at(body, "metadata"))
        if key_of(body).namespace != target.namespace:
            metadata.pop("ownerReferences", None)
        metadata["labels"] = {
            **labels_of(body),
            f"{_PREFIX}clone-source": "",
            **_reference("source", body),
        }
        clone_of = {
            **body,
            "metadata": {key: value for key, value in metadata.items() if key not in _NOT_CLONED},
        }
        self._put(clone_of, target, store)

    def _clone_all(self, wanted: CloneList, namespace: str, store: Store) -> None:
        if wanted.selector == LabelSelector():
            raise CloneListError(
                "cloneList selector is empty: Kyverno cannot list with it",
                self.rule.location,
                "leave it out to clone every object",
            )
        for api_version, kind in wanted.kinds:
            if not api_version:
                raise CloneListError(
                    f"cloneList kind {kind} names no version: its objects cannot be listed",
                    self.rule.location,
                    f"write v1/{kind} or group/version/{kind}",
                )
            sources = store.select(api_version, kind, wanted.namespace, wanted.selector)
            for source in tuple(sources):
                key = key_of(source)
                if key.namespace != namespace:
                    self._clone(key, key._replace(namespace=namespace), store)

    def _put(self, data: Body, target: ObjectKey, store: Store) -> None:
        if store.find(target) is not None and not self.synchronize:
            return
        store.budget.weigh(data, "a generated object")
        labels = managed_labels(self.policy, self.rule.name, store.trigger)
        given = data.get("metadata")
        if given is not None and not isinstance(given, dict):
            raise EvaluationError("metadata must be an object")
        metadata = {**(given or {}), "name": target.name, "namespace": target.namespace}
        metadata["labels"] = {**labels_of(data), **labels}
        metadata.pop("resourceVersion", None)
        for key in ("name", "namespace"):
            if not metadata[key]:
                del metadata[key]
        body: Body = {
            "apiVersion": target.api_version,
            "kind": data.get("kind") or target.kind,
            "metadata": metadata,
        }
        rest = {key: value for key, value in data.items() if key not in body}
        store.write(target, {**body, **{key: _plain(value) for key, value in rest.items()}})


class CloneListError(EvaluationError):
    """A cloneList that cannot be listed; Kyverno's command-line program ends there."""


def _plain(value: Json) -> Json:
    """Return the value as plain JSON, without the engine's own number type."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return int(value) if isinstance(value, Int64) else value


_ID = "CK520"
_HINT = (
    "leave out operations, and ask for them in a precondition that holds without one, too: "
    "key \"{{ request.operation || 'BACKGROUND' }}\", operator AnyIn, value [CREATE, BACKGROUND]"
)


def unmatched_in_background(policy: Policy) -> Iterator[Diagnostic]:
    """Yield a warning for each rule whose `synchronize` or `generateExisting` has no effect because
    its match names operations."""
    spec = policy.resource.body.get("spec") or {}
    for rule in policy.rules:
        existing = spec.get("generateExisting") is True
        switches: list[str] = []
        if rule.generate is not None:
            if rule.generate.get("synchronize") is True:
                switches.append("synchronize")
            own = rule.generate.get("generateExisting")
            if own is True or (own is None and existing):
                switches.append("generateExisting")
        if switches and _needs_operation(rule.match):
            what = " and ".join(switches)
            message = (
                f"{policy.key}: rule {rule.name}: {what} without effect: match names operations, "
                "and what Kyverno does in the background has none"
            )
            yield Diagnostic(_ID, Severity.WARNING, message, rule.location, _HINT)


def _needs_operation(match: Match) -> bool:
    """Report whether there are objects that a match takes only with an operation."""
    if match.direct.operations or any(resource_filter.operations for resource_filter in match.all):
        return True
    free = {kind for block in match.any if not block.operations for kind in block.kinds}
    return any(block.operations and not free.issuperset(block.kinds) for block in match.any)


Step = Callable[["Context", Store], None]
"""Writes what one part of a rule asks for; raises ChartkitError."""


def compile_generate(rule: Rule, policy: Policy) -> Handler:
    """The handler of a generate rule.

    The rule passes whatever becomes of its objects, as Kyverno's does: that they cannot be made (a
    variable or a source is missing) fails an update request later, and `unmade` says why.
    """
    body = rule.generate or {}
    writer = Writer(policy, rule, body.get("synchronize") is True)
    steps: list[Step] = [_compile_loop(loop, writer) for loop in body.get("foreach") or ()]
    if body.get("foreach") is None:
        pattern = compile_pattern(body)
        steps = [lambda context, store: writer.write(pattern(context), store)]

    def handle(context: Context, request: Request) -> RuleResult | None:
        cluster = context.world.api.cluster(policy.key, rule.name)
        store = Store(cluster, request.resource.body, context.budget)
        passed = RuleResult(policy.key, rule.name, RuleType.GENERATION, Status.PASS, "")
        try:
            for step in steps:
                step(context, store)
        except (BudgetError, CloneListError, NoSource):
            raise
        except ChartkitError as error:
            # One object that cannot be made fails the whole update request.
            return replace(passed, unmade=error.message)
        return replace(
            passed, generated=tuple(store.made.values()), updated=tuple(store.updated.values())
        )

    return handle


def _compile_loop(body: Body, writer: Writer) -> Step:
    loop = compile_loop(body, writer.rule, writer.policy, compile_pattern)

    def step(context: Context, store: Store) -> None:
        for _, _, inner in each_element(loop.elements(context), context, 0):
            loop.entries.attach(inner)
            if loop.preconditions is None or loop.preconditions.evaluate(inner).holds:
                writer.write(loop.run(inner), store)

    return step


@dataclass(frozen=True, slots=True)
class BackgroundRule(CompiledRule):
    """A generate rule for one kind of object. speaks: whether match and exclude fit."""

    speaks: Predicate

    def _run(self, base: Context, request: Request, facts: Facts) -> RuleResult | None:
        lifting = [binding.exception for binding in self.exceptions if binding.applies(facts, base)]
        if lifting:
            return self._excepted(lifting)
        if not self.speaks(facts):
            # An object that the rule matched until this update.
            old = request.old and Facts(replace(request, resource=request.old))
            return self._answer(Status.FAIL, "") if old and self.speaks(old) else None
        if request.operation is Operation.DELETE:
            raise EvaluationError(
                "what a deletion generates is unknown: the object is gone",
                hint="generate rules are evaluated for CREATE and UPDATE",
            )
        context = base.child()
        try:
            self.body.entries.attach(context)
        except ChartkitError:
            return None
        unmet = self._unmet_now(context, request)
        if unmet is not None:
            return unmet
        result = self.body.handle(context, request)
        if result is None or not self.rule.properties:
            return result
        return with_properties(result, self.rule.properties)

    def _unmet_now(self, context: Context, request: Request) -> RuleResult | None:
        conditions = self.body.preconditions
        if conditions is None:
            return None
        with Reraise("failed to evaluate conditions: "):
            if conditions.ask(context).holds:
                return None
        if request.old is None:
            return self._answer(Status.SKIP, "")
        before = context.child()
        seen = before.data["request"]
        before.set("request", {**seen, "object": request.old.body})
        with Reraise("failed to evaluate conditions for old resource: "):
            outcome = conditions.ask(before)
        return self._answer(Status.FAIL if outcome.holds else Status.SKIP, "")
