import pytest

from chartkit.schemas.kind_selectors import is_version, parse_kind_selector


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Pod", ("*", "*", "Pod", "")),
        ("*", ("*", "*", "*", "")),
        ("*/*", ("*", "*", "*", "*")),
        ("*/exec", ("*", "*", "*", "exec")),
        ("*/Pod", ("*", "*", "Pod", "")),
        ("v1/Pod", ("*", "v1", "Pod", "")),
        ("v1beta1/CronJob", ("*", "v1beta1", "CronJob", "")),
        ("Pod/status", ("*", "*", "Pod", "status")),
        ("Pod.status", ("*", "*", "Pod", "status")),
        ("apps/Deployment", ("*", "*", "apps", "Deployment")),
        ("apps/v1/Deployment", ("apps", "v1", "Deployment", "")),
        ("apps.v1.Deployment", ("apps", "v1", "Deployment", "")),
        ("v1/Pod/exec", ("*", "v1", "Pod", "exec")),
        ("apps/v1/Deployment/scale", ("apps", "v1", "Deployment", "scale")),
        ("apps/v1/Deployment.scale", ("apps", "v1", "Deployment", "scale")),
        ("a/b/c/d/e", ("", "", "", "")),
        ("/Pod", ("*", "*", "", "Pod")),
    ],
)
def test_kind_selectors(text: str, parts: tuple[str, str, str, str]) -> None:
    assert parse_kind_selector(text) == parts


@pytest.mark.parametrize("text", ["v1", "v1alpha1", "v2beta2", "*"])
def test_kind_selectors_versions(text: str) -> None:
    assert is_version(text)


@pytest.mark.parametrize("text", ["apps", "v", "v1gamma1", "v12", ""])
def test_kind_selectors_no_versions(text: str) -> None:
    assert not is_version(text)
