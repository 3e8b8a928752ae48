"""Values of the engine that go wrong with a deployer: one rule a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chartkit.model import Json, value_at
from chartkit.render.chart import CheckTarget
from chartkit.render.model import Outcome, Row
from chartkit.values.lint.rule import ChartValues

_CHECK: Final = "gitops"


@dataclass(frozen=True, slots=True)
class _Pitfall:
    """A value that does harm with some deployers; hint: what to do."""

    path: tuple[str, ...]
    value: Json
    deployers: frozenset[str]
    message: str
    hint: str


_ALL: Final = frozenset({"argocd", "flux", "helmfile", "terraform"})
_PITFALLS: Final = (
    *(
        _Pitfall(
            (controller, "createSelfSignedCert"),
            True,
            frozenset({"argocd"}),
            "Argo CD renders without the cluster: every sync makes new certificates, which no Pod "
            "has until it restarts",
            f"leave {controller}.createSelfSignedCert false: Kyverno makes and renews them",
        )
        for controller in ("admissionController", "cleanupController")
    ),
    _Pitfall(
        ("webhooksCleanup", "enabled"),
        False,
        _ALL - {"argocd"},
        "nothing removes Kyverno's webhooks when the release is removed: they refuse requests "
        "that nothing answers",
        "leave webhooksCleanup.enabled true",
    ),
    _Pitfall(
        ("crds", "annotations", "helm.sh/resource-policy"),
        "delete",
        _ALL,
        "the definitions would be removed with the release, and every policy and report with them",
        "leave the annotation out: the deployer's files have `keep`",
    ),
    _Pitfall(
        ("global", "templating", "enabled"),
        True,
        _ALL,
        "plain manifests have no hooks: nothing migrates stored policies or removes webhooks",
        "leave global.templating.enabled false for an installation by Helm",
    ),
)


def rows(subjects: Sequence[CheckTarget], deployers: Sequence[str]) -> Iterator[Row]:
    """Yield a warning for each value of the engine that goes wrong with a chosen deployer."""
    for subject in subjects:
        if subject.engine is not None:
            values = subject.engine.lint_subject()
            yield from _of_environment(subject.environment.name, values, deployers)


def _of_environment(name: str, values: ChartValues, deployers: Sequence[str]) -> Iterator[Row]:
    for pitfall in _PITFALLS:
        concerned = [each for each in deployers if each in pitfall.deployers]
        if concerned and value_at(values.values, pitfall.path) == pitfall.value:
            message = f"{', '.join(concerned)}: {pitfall.message}"
            place = values.locate(pitfall.path)
            yield Row(name, _CHECK, Outcome.WARNING, message, place, pitfall.hint)
