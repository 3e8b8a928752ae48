"""PolicyExceptions of CEL policies: which apply, what they let through, what is reported."""

import pytest

from chartkit.engine.cel_policies.exceptions import CelException
from chartkit.engine.jmespath.nodes import Sources, use_sources
from chartkit.errors import CompileError
from chartkit.model import Resource
from tests.unit.engine.cel_policies.policies import conditions, exception, results, said, validating

REFUSED = validating("false")
PRIORITY = "polex.kyverno.io/priority"
SKIPPED = "rule is skipped due to policy exception: default/"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([exception()], ("skip", SKIPPED + "e")),
        ([exception(reportResult="pass")], ("pass", SKIPPED.replace("skipped", "passed") + "e")),
        ([exception(name="a"), exception(name="b")], ("skip", SKIPPED + "a, default/b")),
        ([exception("p", "p")], ("skip", SKIPPED + "e, default/e")),
        ([exception(matchConditions=conditions("true"))], ("skip", SKIPPED + "e")),
        (
            [exception(), exception(matchConditions=conditions("object.nope == 1"))],
            ("skip", SKIPPED + "e"),
        ),
        (
            [exception(matchConditions=conditions("object.nope == 1")), exception()],
            ("error", "failed to load context: no such key: nope"),
        ),
        (
            [exception(matchConditions=conditions("size(exceptions.allowedImages) == 0"))],
            ("error", "failed to load context: no such attribute(s): exceptions"),
        ),
    ],
)
def test_let_off(given: list[CelException], expected: tuple[str, str]) -> None:
    assert said(REFUSED, exceptions=given) == expected


@pytest.mark.parametrize(
    "given",
    [
        exception("other"),
        exception(kind="NamespacedValidatingPolicy"),
        exception(matchConditions=conditions("false")),
        exception(images=["nginx*"]),
        exception(expiresAt="2020-01-01T00:00:00Z"),
    ],
)
def test_not_let_off(given: CelException) -> None:
    assert said(REFUSED, exceptions=[given])[0] == "fail"


def test_an_exception_applies_until_it_expires() -> None:
    given = exception(expiresAt="2020-01-01T00:00:00Z")
    with use_sources(Sources(now=lambda: 1_500_000_000 * 10**9)):
        assert said(REFUSED, exceptions=[given])[0] == "skip"


def test_the_end_of_an_exception_is_a_time() -> None:
    with pytest.raises(CompileError, match="must be of type date-time"):
        exception(expiresAt="soon")


@pytest.mark.parametrize(
    ("priorities", "status"),
    [(("5", "10"), "pass"), (("10", "5"), "skip"), (("", "0"), "skip"), (("5", "x"), "skip")],
)
def test_the_highest_priority_decides(priorities: tuple[str, str], status: str) -> None:
    first, second = priorities
    given = [
        exception(labels={PRIORITY: first}),
        exception(name="f", labels={PRIORITY: second}, reportResult="pass"),
    ]
    (result,) = results(REFUSED, exceptions=given)
    assert result.status.value == status
    assert result.properties == {"exceptions": "e,f"}


def test_what_is_allowed_is_a_variable() -> None:
    asked = validating(
        "exceptions.allowedImages == ['a*'] && exceptions.allowedValues == ['v', 'w']"
    )
    given = [
        exception(images=["a*"], allowedValues=["v"]),
        exception(name="f", allowedValues=["w"]),
    ]
    assert said(asked, exceptions=given)[0] == "pass"


def test_a_condition_that_does_not_compile_refuses_the_policy() -> None:
    with pytest.raises(CompileError, match=r"spec\.matchConditions\[0\]\.expression"):
        said(REFUSED, exceptions=[exception(matchConditions=conditions("foo()"))])


def test_the_schema_is_checked() -> None:
    from chartkit.engine.cel_policies.exceptions import read_cel_exception

    body = {"apiVersion": "policies.kyverno.io/v1", "kind": "PolicyException", "metadata": {}}
    with pytest.raises(CompileError, match="spec"):
        read_cel_exception(Resource(body))
