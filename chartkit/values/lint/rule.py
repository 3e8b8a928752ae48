"""The base class of the rules: an explanation, an example, checks and perhaps a fix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from chartkit.model import Body, Diagnostic, Explanation, Location, Severity
from chartkit.values.lint.subject import Subject


class Rule:
    """A mistake that people make in values.

    id, what, why, do: see `Explanation`. problematic: values that the rule reports; correct: values
    that it does not; example_chart: the values.yaml of the chart that both are for, empty for
    Kyverno's. fixes: what `values lint --fix` changes; empty where no fix is safe.
    """

    id: ClassVar[str]
    what: ClassVar[str]
    why: ClassVar[str]
    do: ClassVar[str]
    problematic: ClassVar[str]
    correct: ClassVar[str]
    example_chart: ClassVar[str] = ""
    fixes: ClassVar[str] = ""

    def check_values(self, _: Subject) -> Iterable[Diagnostic]:
        """Return what is wrong with the values alone, before Helm renders."""
        return ()

    def check_refused(self, _: Subject) -> Iterable[Diagnostic]:
        """Return what the engine's templates refuse, with the place that they cannot name."""
        return ()

    def check_rendered(self, _: Subject) -> Iterable[Diagnostic]:
        """Return what is wrong with the objects that Helm rendered."""
        return ()

    def fix(self, document: Any, defaults: Body) -> bool:
        """Fix a values file in place; return whether anything changed.

        defaults: the chart's own values. A fix changes only what has no effect as it is.
        """
        raise NotImplementedError

    def error(self, message: str, place: Location, hint: str) -> Diagnostic:
        """Return an error of this rule."""
        return Diagnostic(self.id, Severity.ERROR, message, place, hint)

    def warning(self, message: str, place: Location, hint: str) -> Diagnostic:
        """Return a warning of this rule."""
        return Diagnostic(self.id, Severity.WARNING, message, place, hint)

    @property
    def explanation(self) -> Explanation:
        """The meaning of the rule's id."""
        example = (self.problematic, self.correct)
        return Explanation(self.id, self.what, self.why, self.do, self.fixes, example)
