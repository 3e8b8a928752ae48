"""`webhookConfiguration.matchConditions`: which requests reach Kyverno."""

import pytest

from chartkit.engine.cel_policies.scope import Attributes
from chartkit.engine.cluster_policy.validate_cel import WebhookConditions
from chartkit.engine.request import Request
from chartkit.errors import EvaluationError
from tests.data import from_table
from tests.unit.engine.cel_policies.policies import conditions, pod

REQUEST = Attributes(Request(pod()))


@from_table("expressions", "holds")
def test_webhook_conditions(expressions: list[str], holds: bool) -> None:
    assert WebhookConditions(conditions(*expressions)).hold(REQUEST) is holds


@pytest.mark.parametrize("text", ["object.nope == 1", "foo()", "1"])
def test_what_cannot_be_decided(text: str) -> None:
    with pytest.raises(EvaluationError, match="failed to evaluate match conditions"):
        WebhookConditions(conditions("true", text)).hold(REQUEST)
