from chartkit.kyverno.controllers import ResourceName, guess_plural, known_kinds
from tests.data import from_table


@from_table("kind", "plural")
def test_guesses_are_kubernetes_own(kind: str, plural: str) -> None:
    assert guess_plural(kind) == plural


def test_known_kinds_are_found_without_a_group() -> None:
    kinds = known_kinds()
    assert kinds.find(None, "Deployment") == [ResourceName("apps", "deployments")]
    assert kinds.find("apps", "Deployment") == [ResourceName("apps", "deployments")]
    assert [each.group for each in kinds.find(None, "PolicyException")] == [
        "kyverno.io",
        "policies.kyverno.io",
    ]


def test_plurals_that_would_be_guessed_wrong() -> None:
    kinds = known_kinds()
    expected = ResourceName("networking.istio.io", "gateways")
    assert kinds.find("networking.istio.io", "Gateway") == [expected]
    assert expected in kinds.find(None, "Gateway")


def test_foreign_kinds_are_guessed_in_their_group_and_not_known_without() -> None:
    kinds = known_kinds()
    assert kinds.find("example.com", "Widget") == [ResourceName("example.com", "widgets", "Widget")]
    assert kinds.find(None, "Widget") == []
