"""Names in expectations that there are not, said above the results."""

from pathlib import Path

import pytest

from chartkit.testing.runner import run_tests
from tests.data import beside

_TEXTS = beside(__file__)
TEST = _TEXTS["test"]
POLICY = _TEXTS["policy"]
OBJECTS = _TEXTS["objects"]
EVERY = "there is no object 'bda' among the resources: every object is compared in its place"
RIGHT = {"POLICY": "require-owner", "RULE": "owner", "RESULT": "fail", "RESOURCES": "bad"}


@pytest.mark.parametrize(
    ("wrong", "said", "hint"),
    [
        ({}, "", ""),
        ({"RULE": "autogen-owner"}, "", ""),
        ({"RULE": "''"}, "", ""),
        ({"RESOURCES": "shop/bad"}, "", ""),
        ({"RULE": "ownr"}, "policy 'require-owner' has no rule 'ownr'", "did you mean 'owner'?"),
        ({"RULE": "x"}, "policy 'require-owner' has no rule 'x'", "it has owner"),
        ({"RESULT": "fails"}, "there is no result 'fails'", "did you mean 'fail'?"),
        ({"RESULT": "deny"}, "there is no result 'deny'", "one of pass, fail, "),
        ({"RESOURCES": "bda"}, EVERY, "did you mean 'bad'?"),
        ({"RESOURCES": "bad, bda"}, "it is passed over", "did you mean 'bad'?"),
        ({"POLICY": "require-owners"}, "there is no policy 'require-owners'", "'require-owner'"),
    ],
)
def test_mistakes_in_expectations(
    tmp_path: Path, wrong: dict[str, str], said: str, hint: str
) -> None:
    text = TEST
    for name, value in {**RIGHT, **wrong}.items():
        text = text.replace(name, value)
    for file, content in (("kyverno-test", text), ("policy", POLICY), ("objects", OBJECTS)):
        (tmp_path / f"{file}.yaml").write_text(content)
    (case,) = run_tests([tmp_path])
    assert [said in each.message for each in case.diagnostics] == ([True] if said else [])
    for each in case.diagnostics:
        assert hint in (each.hint or "")
        assert each.location is not None
        assert each.location.line == 6
