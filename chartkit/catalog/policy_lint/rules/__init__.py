"""The rules for policies, in a few modules by subject.

A rule is a function with the decorator `policy_rule`, which registers it; rules.yaml has its words
and examples. Ids: CK70x and CK71x are without effect, CK72x what Kyverno or an API server refuses,
CK73x about expressions and templates, CK74x what burdens a cluster, CK75x about several policies
together.
"""

from __future__ import annotations

from typing import Final

from chartkit.catalog.policy_lint.rule import PolicyRule, texts
from chartkit.registration import declarations, modules

_CHECKED: Final = tuple(
    rule for module in modules(__name__) for rule in declarations(PolicyRule, vars(module))
)
_TOGETHER: Final = texts().keys() - {rule.id for rule in _CHECKED}
"""The rules about several policies together, which the add-on `satisfy` decides."""
RULES: Final[tuple[PolicyRule, ...]] = tuple(
    sorted((*_CHECKED, *map(PolicyRule, _TOGETHER)), key=lambda rule: rule.id)
)
"""Every rule of every module in this folder, and of rules.yaml, by id."""
