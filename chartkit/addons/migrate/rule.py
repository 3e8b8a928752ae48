"""A converted rule: the part of a new policy that says what the rule said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chartkit.addons.migrate.matching.scope import Condition, Scope
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.model import Body


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the new policy; expression: a tree, or the text of one that was CEL."""

    name: str
    expression: Expr | str


@dataclass(frozen=True, slots=True)
class ConvertedRule:
    """The form that a rule becomes.

    conditions: those of its preconditions, behind those of its scope; spec: the fields that its
    kind alone has (`validations`, `mutations`, `generate` …), with expressions as trees; changes:
    behaviour that differs, a sentence each; background: whether background scans look at it;
    assumed: types of fields that no table knows, by path; name: of the rule where it is another
    than the legacy one's; is_extended: whether Kyverno may extend it to pod controllers; others:
    what the rule takes next to it, such as its forms for controllers; may_fail: whether an
    expression of what it generates may fail.
    """

    kind: CelKind
    scope: Scope
    spec: Body
    conditions: tuple[Condition, ...] = ()
    variables: tuple[Variable, ...] = ()
    changes: tuple[str, ...] = ()
    background: bool = True
    assumed: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    is_extended: bool = True
    others: tuple[ConvertedRule, ...] = ()
    may_fail: bool = True


RuleConverter = Callable[[Rule, Policy], ConvertedRule]
"""The converter of a type of rule; raises `NotConvertible`."""
