"""The fields of failures in CEL: most of them change the verdict, and all failures have one."""

import pytest

from tests.conformance.field_cases import of_library
from tests.conformance.fields import figures
from tests.policy_forms import ALL, VALIDATING

_POLICIES = (
    "disallow-capabilities",
    "disallow-host-ports",
    "require-requests-limits",
    "require-run-as-nonroot",
)
_RIGHT = 0.95


@pytest.mark.slow
def test_failures_in_cel_name_fields_that_change_the_verdict() -> None:
    chosen = [policy for policy in ALL if policy.name in _POLICIES]
    found = figures(of_library(VALIDATING, chosen))["ValidatingPolicy"]
    assert found.total > 40
    assert found.named == 1
    assert found.right >= _RIGHT, list(map(str, found.wrong))
