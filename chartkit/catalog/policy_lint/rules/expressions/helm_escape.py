"""CK732: Helm's escaping that Helm has not removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic, texts_below

_ESCAPE: Final = re.compile(r"\{\{-?\s*`\s*\{\{[^`]*\}\}\s*`\s*-?\}\}")


class HelmEscape(PolicyRule):
    id = "CK732"

    def check(self, subject: Subject) -> Iterator[Diagnostic]:
        if not subject.resource.api_version.startswith("kyverno.io/"):
            return
        for path, text in texts_below(subject.resource.body.get("spec"), ("spec",)):
            if found := _ESCAPE.search(text):
                message = "the variable has the escaping of a Helm template"
                hint = "write {{ … }} without the outer braces and the backticks"
                yield self.finding(subject, path, message, hint, found.start())
