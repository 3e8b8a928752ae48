"""`spec.webhookConfiguration.matchConditions`: which requests an API server sends to Kyverno."""

from __future__ import annotations

from collections.abc import Sequence

from chartkit.engine.cel import types
from chartkit.engine.cel.environments import ENVIRONMENTS
from chartkit.engine.cel_policies.admission.expressions import AdmissionExpressions
from chartkit.engine.cel_policies.attributes import Attributes
from chartkit.engine.cel_policies.conditions import failed
from chartkit.engine.cel_policies.scope import server_scope
from chartkit.errors import EvaluationError
from chartkit.model import Body


class WebhookConditions:
    """Compiled match conditions: a request of which one is false is not sent."""

    __slots__ = ("_conditions",)

    def __init__(self, conditions: Sequence[Body]) -> None:
        expressions = AdmissionExpressions(ENVIRONMENTS["k8s"], (), has_params=False)
        self._conditions = [
            expressions.compile(one.get("expression") or "", (types.BOOL,)) for one in conditions
        ]

    def hold(self, attributes: Attributes) -> bool:
        """Return whether all conditions are true; raises EvaluationError where one cannot be
        evaluated and none is false, for then an API server refuses the request."""
        scope = server_scope(attributes)
        scope["namespaceObject"] = None
        failures = failed(lambda one: one.evaluate(scope), self._conditions)
        if failures:
            raise EvaluationError(f"failed to evaluate match conditions: {', '.join(failures)}")
        return failures is not None
