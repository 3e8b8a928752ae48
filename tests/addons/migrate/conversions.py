"""A rule converted, as tests look at it."""

from dataclasses import dataclass, replace

import yaml

from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.differences import DELETIONS
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import prove
from chartkit.engine.cel_policies.compile import compile_cel_policy
from chartkit.engine.cluster_policy.compile import compile_policy
from chartkit.engine.policies import evaluate
from chartkit.engine.request import Request
from chartkit.model import Body, Location, Resource, Status
from tests.data import beside

_RULE = beside(__file__)["rule"]


@dataclass(frozen=True, slots=True)
class Converted:
    """What a rule became; reason: why it was left, empty for one that was not."""

    legacy: Resource
    documents: tuple[Body, ...]
    reason: str
    changes: tuple[str, ...]

    @property
    def spec(self) -> Body:
        """The specification of the first new policy."""
        spec: Body = self.documents[0]["spec"]
        return spec

    @property
    def expressions(self) -> list[str]:
        """The expressions of validations, each on one line."""
        return [one_line(each["expression"]) for each in self.spec["validations"]]

    @property
    def variables(self) -> dict[str, str]:
        """The expressions of variables, each on one line."""
        return {
            each["name"]: one_line(each["expression"]) for each in self.spec.get("variables", ())
        }

    @property
    def conditions(self) -> list[str]:
        """The expressions of match conditions, each on one line."""
        return [one_line(each["expression"]) for each in self.spec.get("matchConditions", ())]


def one_line(expression: str) -> str:
    """Return an expression without the line breaks of its layout."""
    text = " ".join(expression.split())
    return text.replace("( ", "(").replace(" )", ")")


def policy(rule: str, kind: str = "ConfigMap") -> Body:
    """Return a policy of one rule; rule: what stands in it next to name and match, as YAML."""
    body: Body = yaml.safe_load(_RULE.replace("KIND", kind))
    body["spec"]["rules"][0].update(yaml.safe_load(rule))
    return body


def converted(rule: str, kind: str = "ConfigMap", spec: Body | None = None) -> Converted:
    """Return what a rule becomes; rule: what stands in it next to name and match, as YAML; spec:
    further fields of the policy's spec."""
    body = policy(rule, kind)
    body["spec"].update(spec or {})
    legacy = Resource(body, Location("policy.yaml"))
    conversion = convert(legacy)
    outcome = conversion.outcomes[0]
    changes = (
        *outcome.changes,
        *outcome.remarks,
        *([DELETIONS] if outcome.drops_deletions else []),
    )
    return Converted(legacy, conversion.documents, outcome.reason, changes)


def deny(key: str, operator: str, value: str) -> str:
    """Return a deny rule of one condition, as YAML."""
    condition = f'{{key: "{key}", operator: {operator}, value: {value}}}'
    return f"validate: {{message: m, deny: {{conditions: {{all: [{condition}]}}}}}}"


def same_result(rule: str, body: Body) -> str:
    """Return the result of both forms of a rule, which must be one."""
    found = converted(rule, body["kind"])
    assert found.reason == ""
    results = []
    (new,) = (Resource(each, Location("x")) for each in found.documents)
    for policy in (compile_policy(found.legacy), compile_cel_policy(new)):
        states = {one.status for one in evaluate([policy], Request(Resource(body, Location("y"))))}
        results.append("refused" if states & {Status.FAIL, Status.ERROR} else "allowed")
    assert results[0] == results[1], found.expressions
    return results[0]


def proved(rule: str, kind: str = "ConfigMap", *, requests: int = 600) -> Converted:
    """Return what a rule becomes, of which a proof finds no difference."""
    found = converted(rule, kind)
    assert found.reason == ""
    forms = [Resource(body) for body in found.documents]
    options = replace(proof_options(convert(found.legacy)), most_requests=requests)
    proof = prove(found.legacy, forms, options=options)
    assert proof.equal, proof.differences
    return found
