"""The rules for values, in a few modules by subject.

A rule is a function with the decorator `values_rule`, which registers it; rules.yaml has its words
and examples.
"""

from __future__ import annotations

from typing import Final

from chartkit.registration import declarations, modules
from chartkit.values.lint.rule import Rule

RULES: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (rule for module in modules(__name__) for rule in declarations(Rule, vars(module))),
        key=lambda rule: rule.id,
    )
)
"""Every rule of every module in this folder, by id."""
