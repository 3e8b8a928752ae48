"""Names in a test's expectations that there are not. Kyverno's test command takes them: an unknown
rule is `Excluded` and passes, and an unknown object stands for every object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chartkit.engine.cluster_policy.policy import Policy
from chartkit.model import Diagnostic, Severity, Status
from chartkit.suggestions import suggestion
from chartkit.testing.answers import Answers, key_of
from chartkit.testing.inputs import TestInputs
from chartkit.testing.matching import chosen
from chartkit.testing.model import Expectation

RULE: Final = "test"
_RESULTS: Final = tuple(map(str, Status))
_AUTOGEN: Final = ("autogen-cronjob-", "autogen-")


def mistakes(inputs: TestInputs, answers: Answers) -> Iterator[Diagnostic]:
    """Yield a warning for each policy, rule, result and object that an expectation names and that
    there is not."""
    policies = inputs.policies
    rules = {
        each.policy.name: [rule.name for rule in each.policy.rules]
        for each in policies.compiled
        if isinstance(each.policy, Policy)
    }
    named = {*rules, *policies.refused, *policies.unevaluated}
    named |= {each.policy.name for each in policies.compiled}
    named |= {each.name for each in policies.cleaners}
    targets = [key_of(each) for each in inputs.targets]
    for wanted in inputs.test.expectations:
        name = wanted.policy_name
        if name not in named:
            text = f"there is no policy '{name}' among the policies of the test"
            yield _warning(wanted, text, suggestion(name, named))
        elif name in rules and not _is_rule(wanted.rule, rules[name]):
            text = f"policy '{name}' has no rule '{wanted.rule}': nothing is compared"
            hint = suggestion(wanted.rule, rules[name]) or f"it has {', '.join(rules[name])}"
            yield _warning(wanted, text, hint)
        if wanted.result and wanted.result not in _RESULTS:
            text = f"there is no result '{wanted.result}': nothing can come to it"
            hint = suggestion(wanted.result, _RESULTS) or f"one of {', '.join(_RESULTS)}"
            yield _warning(wanted, text, hint)
        keys = [*answers.targets, *targets, *answers.triggers[wanted.operation]]
        missing = [each for each in wanted.resources or () if not any(chosen((each,), (), keys))]
        for each in missing:
            is_alone = not any(chosen(wanted.resources, wanted.specs, keys))
            effect = "every object is compared in its place" if is_alone else "it is passed over"
            text = f"there is no object '{each}' among the resources: {effect}"
            yield _warning(wanted, text, suggestion(each, [key[-1] for key in keys if key]))


def _is_rule(name: str, rules: list[str]) -> bool:
    names = [name, *(name.removeprefix(prefix) for prefix in _AUTOGEN)]
    return not name or any(each in rules for each in names)


def _warning(expectation: Expectation, text: str, hint: str | None) -> Diagnostic:
    return Diagnostic(RULE, Severity.WARNING, text, expectation.location, hint)
