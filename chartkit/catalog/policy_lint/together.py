"""Rules about several policies together, which the add-on `satisfy` decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from chartkit.addon import addons, loaded
from chartkit.catalog.policy_lint.rule import PolicyRule, Subject
from chartkit.model import Diagnostic

if TYPE_CHECKING:
    from chartkit.engine import RunnablePolicy

_ADDON = "satisfy"


class RunRule(PolicyRule):
    """A rule about all policies of a run. port: what the add-on brings for it; without the add-on
    it finds nothing."""

    port: ClassVar[str]

    def check(self, _subject: Subject) -> Iterable[Diagnostic]:
        """Return nothing: a single policy has no finding."""
        return ()

    def check_run(self, policies: Sequence[RunnablePolicy]) -> Iterator[Diagnostic]:
        """Yield the findings in compiled policies together."""
        addon = addons().get(_ADDON)
        if addon is None:
            return
        for severity, location, message, hint in loaded(addon.ports[self.port])(policies):
            yield Diagnostic(self.id, severity or self.level, message, location, hint)
