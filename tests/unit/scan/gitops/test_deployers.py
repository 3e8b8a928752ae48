"""What is said of how and where an object deploys Kyverno."""

import pytest

from chartkit.documents.reader import read_text
from chartkit.model import Diagnostic
from chartkit.scan.gitops.releases import released_values
from tests.data import beside

_TEXTS = beside(__file__)
APPLICATION = _TEXTS["application"]
RELEASE = _TEXTS["release"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (APPLICATION % ("kyverno", "CreateNamespace=true, ServerSideApply=true"), []),
        (APPLICATION % ("kyverno", "CreateNamespace=true"), ["without ServerSideApply=true"]),
        (APPLICATION % ("default", "ServerSideApply=true"), ["the namespace 'default'"]),
        (APPLICATION % ("kyverno", "Replace=true"), ["Replace=true replaces objects"]),
        (RELEASE, ["the namespace 'kube-system'"]),
        (
            (APPLICATION % ("kyverno", "ServerSideApply=true")).replace("ServerSideDiff", "X"),
            ["has no argocd.argoproj.io/compare-options: ServerSideDiff=true"],
        ),
        (
            (APPLICATION % ("kyverno", "ServerSideApply=true")).replace("ClusterRole", "Role"),
            ["has no ClusterRole in ignoreDifferences"],
        ),
        (
            (APPLICATION % ("kyverno", "ServerSideApply=true")).replace("false", "true"),
            ["config.preserve is true"],
        ),
    ],
)
def test_faults(text: str, wanted: list[str]) -> None:
    found: list[Diagnostic] = []
    assert len(list(released_values(read_text(text, "x.yaml"), {}, found.append))) == 1
    assert len(found) == len(wanted)
    assert all(part in row.message for part, row in zip(wanted, found, strict=True))
