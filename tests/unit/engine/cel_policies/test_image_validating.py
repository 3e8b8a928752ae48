"""ImageValidatingPolicy: which images it is about, and what must hold of them."""

from typing import Any

import pytest

from chartkit.errors import CompileError
from chartkit.model import Body, Resource
from tests.data import from_table
from tests.unit.engine.cel_policies.policies import (
    conditions,
    deployment,
    exception,
    pod,
    policy,
    results,
    said,
    variables,
)

PINNED = "nginx@sha256:" + "a" * 64
LOOSE = {"mutateDigest": False, "verifyDigest": False, "required": False}
ATTESTOR: Body = {"name": "n", "notary": {"certs": {"value": "x"}}}


def validating(*expressions: str, glob: str = "**", **spec: Any) -> Resource:
    """An ImageValidatingPolicy about Pods alone that asks for no registry."""
    spec.setdefault("autogen", {"podControllers": {"controllers": []}})
    spec.setdefault("matchImageReferences", [{"glob": glob}])
    spec.setdefault("validationConfigurations", LOOSE)
    checked = [{"expression": text} for text in expressions]
    return policy("ImageValidatingPolicy", attestors=[ATTESTOR], validations=checked, **spec)


def images(*names: Any) -> Resource:
    containers = [{"name": f"c{index}", "image": one} for index, one in enumerate(names)]
    return pod(spec={"containers": containers})


@from_table("given", "found")
def test_image_validating_references(given: dict[str, Any], found: str) -> None:
    asked = validating(f"images.containers == {found} && images.initContainers == []", **given)
    assert said(asked, images("ghcr.io/a/b:1", "nginx"))[0] == "pass"


def test_images_that_a_policy_finds_itself() -> None:
    own = [{"name": "own", "expression": "object.spec.containers.map(c, c.image)"}]
    assert said(validating("images.own == ['nginx']", images=own), images("nginx"))[0] == "pass"


@from_table("settings", "image", "expected")
def test_digests_and_verification(settings: Body, image: str, expected: list[str]) -> None:
    asked = validating("true", validationConfigurations=settings)
    assert list(said(asked, images(image))) == expected


@from_table("expression", "settings", "rule", "expected")
def test_without_a_registry_images_are_judged_as_they_are_written(
    expression: str, settings: Body, rule: str, expected: list[str]
) -> None:
    """As Kyverno's command line, in whose rows test files look for rules."""
    settings = {**settings, "mutateDigest": True}
    asked = validating(expression, validationConfigurations=settings)
    [row] = results(asked, images("nginx:1"))
    assert [row.status, row.message] == expected
    assert row.rule == (asked.name if rule == "i" else rule)
    held = validating(expression, matchConditions=conditions("false"))
    assert results(held, images("nginx:1")) == []


def test_the_digest_is_asked_for_pod_controllers_too() -> None:
    asked = validating("true", validationConfigurations={}, autogen={})
    assert said(asked, deployment()) == ("fail", "image nginx:1 does not have a digest")


@from_table("expressions", "expected")
def test_image_validating_validations(expressions: list[str], expected: list[str]) -> None:
    named = variables(v="object.metadata.name")
    assert list(said(validating(*expressions, glob="none", variables=named))) == expected


def test_image_validating_a_condition_that_does_not_hold() -> None:
    assert results(validating("true", matchConditions=conditions("false"))) == []


_SKIPPED = ("skip", "rule is skipped due to policy exception: default/whole")
_JUDGED = ("fail", "CEL expression validation failed at index 0")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([{"name": "whole", "reportResult": "pass"}], _SKIPPED),
        ([{"images": ["x"]}], _JUDGED),
        ([{"allowedValues": ["x"]}], _JUDGED),
        ([{"images": ["x"]}, {"name": "whole"}], _SKIPPED),
        ([{"name": "whole"}, {"matchConditions": conditions("object.nope == 1")}], _SKIPPED),
    ],
)
def test_only_exceptions_of_whole_resources_let_off(
    given: list[Body], expected: tuple[str, str]
) -> None:
    found = [exception(kind="ImageValidatingPolicy", **parts) for parts in given]
    assert said(validating("false"), exceptions=found) == expected


def test_image_validating_pod_controllers() -> None:
    asked = validating("images.containers == ['nginx:1']", autogen={})
    assert said(asked, deployment())[0] == "pass"


def test_an_image_that_is_no_reference() -> None:
    message = "failed to evaluate policy: could not parse reference: A/b"
    assert said(validating("true"), images("nginx:1", "A/b")) == ("error", message)
    assert said(validating("true", glob="none"), images("A/b"))[0] == "pass"


@pytest.mark.parametrize("image", [5, None, {"a": 1}])
def test_an_image_that_is_no_text(image: Any) -> None:
    assert said(validating("true"), images(image))[0] == "error"


@from_table("given", "problem")
def test_image_validating_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        said(validating("true", **given))
    assert problem in caught.value.diagnostics[0].message
