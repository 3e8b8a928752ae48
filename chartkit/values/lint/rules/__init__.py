"""The rules, one a module; declaring one registers it."""

from __future__ import annotations

from typing import Final

from chartkit.registration import declarations, modules
from chartkit.values.lint.rule import Rule

RULES: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (
            declared()
            for module in modules(__name__)
            for declared in declarations(type, vars(module))
            if issubclass(declared, Rule) and declared is not Rule
        ),
        key=lambda rule: rule.id,
    )
)
"""Every rule of every module in this folder, by id."""
