"""Results that reviews share are those that each would get on its own."""

from typing import Any

import pytest

from chartkit.addons.serve.admission.judge import Judge, Verdict
from chartkit.addons.serve.admission.review import parse_review
from chartkit.addons.serve.admission.selection import Served
from chartkit.engine import RunnablePolicy
from chartkit.engine.cluster_policy.compile import CompiledPolicy
from chartkit.model import Body
from tests.addons.serve.admission.bodies import AUDITED, CEL, POD, TEAM, changed, policies, review

_MESSAGES = (
    "request.name",
    "request.namespace",
    "request.operation",
    "request.uid || 'none'",
    "request.dryRun || 'none'",
    "request.userInfo.username",
    "request.userInfo.groups[0]",
    "request.userInfo.extra.a[0] || 'none'",
    "serviceAccountName",
    "request.object.metadata.name",
    "request.object.metadata.labels.app || 'none'",
    "request.object.spec.containers[].image | to_string(@)",
)
_EXPRESSIONS = (
    "request.name != 'pod-3'",
    "request.userInfo.username != 'joe'",
    "request.operation == 'UPDATE' || object.metadata.name != 'pod-2'",
    "namespaceObject.metadata.name != 'shop'",
    "!request.dryRun",
    "variables.name != 'pod-1'",
)
_NEW = [CEL, *(CEL.replace("no-latest", f"e{number}") for number in range(len(_EXPRESSIONS)))]


def _texts() -> list[str]:
    messages = [
        TEAM.replace("require-team", f"m{number}").replace("it is required", f"{{{{ {each} }}}}")
        for number, each in enumerate(_MESSAGES)
    ]
    expressions = [
        text.replace("object.spec.containers.all(c, !c.image.endsWith(':latest'))", each).replace(
            "  validations:",
            "  variables: [{name: name, expression: object.metadata.name}]\n  validations:",
        )
        for text, each in zip(_NEW[1:], _EXPRESSIONS, strict=True)
    ]
    excepted = TEAM.replace("require-team", "by-user").replace(
        "    validate:",
        "    exclude: {any: [{subjects: [{kind: User, name: joe}]}]}\n    validate:",
    )
    legacy = [each.replace("  rules:", "  background: false\n  rules:") for each in messages]
    excepted = excepted.replace("  rules:", "  background: false\n  rules:")
    return [TEAM, AUDITED, CEL, excepted, *legacy, *expressions]


def _reviews() -> list[bytes]:
    """Return reviews that differ in one thing or another, many of them equal in what is read."""
    found = []
    for number in range(60):
        body: Body = changed(
            POD,
            name=f"pod-{number % 4}",
            namespace=("default", "shop")[number // 20 % 2],
            labels={"app": "ab"[number % 2], **({"team": "x"} if number % 5 == 0 else {})},
            annotations={"number": str(number)},
        )
        user: Any = {"username": ("jane", "joe")[number // 30 % 2], "groups": ["g"]}
        user["extra"] = {"a": [str(number // 15 % 2)]}
        more = {"operation": "UPDATE", "oldObject": POD} if number % 7 == 0 else {}
        found.append(review(body, userInfo=user, dryRun=number % 3 == 0, **more))
    return found


def _verdict(judge: Judge, content: bytes) -> Verdict:
    found = judge.find("/validate")
    assert found is not None
    verdict = judge.judge(parse_review(content), *found)
    judge.audit(verdict, found[1])
    return verdict


def _told(verdict: Verdict) -> tuple[object, ...]:
    results = [(each.policy.policy.key, list(each.results)) for each in verdict.evaluated]
    return verdict.answer, results


@pytest.mark.parametrize("text", _texts())
def test_each_review_gets_its_own_answer(text: str) -> None:
    own = policies(text)
    shared = Judge(Served(own))
    for content in _reviews():
        assert _told(_verdict(shared, content)) == _told(_verdict(Judge(Served(own)), content))


def test_equal_reviews_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[RunnablePolicy] = []
    run = CompiledPolicy.run_phase

    def counted(self: CompiledPolicy, *arguments: Any) -> None:
        judged.append(self)
        run(self, *arguments)

    monkeypatch.setattr(CompiledPolicy, "run_phase", counted)
    judge = Judge(Served(policies(TEAM)))
    for number in range(100):
        pod = changed(POD, name=f"pod-{number}", labels={"team": "x"} if number % 2 else {})
        _verdict(judge, review(pod, uid=f"uid-{number}"))
    assert len(judged) < 12
