"""The body of a compiled rule: the part that is left after match, exclude, context and
preconditions; and the decision of a validate rule, or of a foreach inside one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chartkit.engine.cluster_policy.autogen import form_names
from chartkit.engine.cluster_policy.policy import ActionOverride, Policy, Rule
from chartkit.engine.context.context import Context
from chartkit.engine.context.entries import ContextEntries, compile_entries
from chartkit.engine.request import ENFORCE, Request
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.errors import ChartkitError
from chartkit.model import Body, FieldPath, Json, RuleResult, Status

if TYPE_CHECKING:
    from chartkit.engine.cluster_policy.conditions.blocks import Conditions
    from chartkit.engine.cluster_policy.exceptions import PolicyException
    from chartkit.engine.context.origins import Origins


FindFields = Callable[["Origins"], Iterable[FieldPath]]
"""Finds the fields of the object that a failure is about, the most telling first."""


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A decision without the names that a result carries.

    Two are equal only if they are one object: a rule makes those that pass when it is compiled.
    """

    status: Status
    message: str
    fields: FindFields | None = None

    def pointers(self, context: Context, judged: Json) -> tuple[str, ...]:
        """Return the fields behind a failure in a context, as JSON pointers; judged: the object."""
        if self.fields is None or self.status in _UNFIELDED or not context.world.wants_fields:
            return ()
        from chartkit.engine.context.origins import origins_of, pointers

        try:
            return pointers(self.fields(origins_of(context, judged)))
        except (ChartkitError, RecursionError):
            # What takes too long, or cannot be evaluated once more, is told of no field.
            return ()


_UNFIELDED: Final = frozenset({Status.PASS, Status.SKIP})
NO_ELEMENT: Final = object()
"""Marks a rule on the object itself, not on an element of a foreach."""

Check = Callable[["Context", "Request", Json], Checked | None]
"""Decides in a context for a request; the last argument is the element that patterns look at.

None: there is nothing to say. May raise EvaluationError."""


Handler = Callable[["Context", "Request"], RuleResult | None]
"""Judges one request; None where the rule has nothing to say of it.

The context is the rule's own: its entries are there and its preconditions hold. May raise
EvaluationError, which becomes an error result.
"""

Compiler = Callable[["Rule", "Policy"], Handler]
"""Makes a rule's handler, once; the rule may be one generated for pod controllers."""


class ExceptedHandler(ABC):
    """A handler that deals with PolicyExceptions itself; every other one is not asked then."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, context: Context, request: Request) -> RuleResult | None:
        """Judges a request that no exception applies to."""

    @abstractmethod
    def excepted(
        self, context: Context, request: Request, exceptions: Sequence[PolicyException]
    ) -> RuleResult | None:
        """Judges a request that these exceptions apply to, at least one."""


def rule_action(
    policy: Policy, rule: str, namespace: str, labels: Mapping[str, str] | None = None
) -> str:
    """`Enforce` or `Audit`: the effect of a rule's failure on an object in a namespace.

    rule: as in a result, possibly an autogen rule; labels: the labels of the namespace. A rule that
    the policy does not name takes the policy's action.
    """
    labels = labels or {}
    for declared in policy.rules:
        if rule in (declared.name, *form_names(declared.name)):
            own = _own_action(declared, namespace, labels)
            return own or _policy_wide(policy, namespace, labels)
    return policy_action(policy, namespace, labels)


def policy_action(policy: Policy, namespace: str, labels: Mapping[str, str] | None = None) -> str:
    """`Enforce` or `Audit` for a policy as a whole: the first rule's that says so itself, else the
    policy's; reports and `--audit-warn` go by it."""
    labels = labels or {}
    for rule in policy.rules:
        if own := _own_action(rule, namespace, labels):
            return own
    return _policy_wide(policy, namespace, labels)


def _own_action(rule: Rule, namespace: str, labels: Mapping[str, str]) -> str:
    if rule.verify_images:
        named = [image.get("failureAction") for image in rule.verify_images]
        actions = [_plain(action) for action in named if isinstance(action, str)]
        return ENFORCE if ENFORCE in actions else next(iter(actions), "")
    own = _override(rule.validate.failure_action_overrides, namespace, labels)
    return own or _plain(rule.validate.failure_action or "")


def _policy_wide(policy: Policy, namespace: str, labels: Mapping[str, str]) -> str:
    action = _override(policy.failure_action_overrides, namespace, labels)
    return action or _plain(policy.failure_action)


def _override(
    overrides: Sequence[ActionOverride], namespace: str, labels: Mapping[str, str]
) -> str:
    for override in overrides:
        if override.action and _speaks_of(override, namespace, labels):
            return _plain(override.action)
    return ""


def _speaks_of(override: ActionOverride, namespace: str, labels: Mapping[str, str]) -> bool:
    names = override.namespaces
    if names is not None and not any(compile_wildcard(name)(namespace) for name in names):
        return False
    selector = override.namespace_selector
    if selector is None:
        return True
    from chartkit.engine.kubernetes.selectors import compile_selector

    return compile_selector(selector)(labels)


def _plain(action: str) -> str:
    """The old lower case spellings as the new ones; empty stays empty."""
    return action.capitalize()


def compile_scope(
    body: Body, rule: Rule, policy: Policy
) -> tuple[ContextEntries, Conditions | None]:
    """Compile the context entries and the preconditions of a rule, or of a part of one."""
    names = {"policy": policy.name, "rule": rule.name, "namespace": policy.namespace}
    entries = compile_entries(body.get("context"), **names)
    preconditions = body.get("preconditions")
    if preconditions is None:
        return entries, None
    from chartkit.engine.cluster_policy.conditions.blocks import compile_conditions

    return entries, compile_conditions(preconditions)


_ENFORCED: Final = ("Enforce", "enforce")


def looks_back(rule: Rule, policy: Policy) -> bool:
    """Report whether a failed update makes the rule ask about the object before it."""
    action = rule.validate.failure_action or policy.failure_action
    return action in _ENFORCED and rule.validate.allow_existing_violations
