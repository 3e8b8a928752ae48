"""A rule whose new form the proof finds to differ is left, and takes no other with it."""

from pathlib import Path
from typing import Any, Final

import pytest

from chartkit.addons.migrate.files.differing import DIFFERS
from tests.addons.migrate.files.migrations import migrated
from tests.data import beside

_TEXTS = beside(__file__)

pytestmark = pytest.mark.slow

_POLICY: Final = _TEXTS["policy"]
"""Of the three rules, `keys` errs in CEL where what is decoded is no UTF-8."""
_EXCEPTION: Final = _TEXTS["exception"]


def _verdicts(folder: Path, text: str, **options: Any) -> dict[str, str]:
    (folder / "policy.yaml").write_text(text)
    policy, *_ = migrated(folder, prove=True, proof_seconds=None, **options).objects
    return {each.rule: each.reason for each in policy.outcomes}


def test_the_rule_that_differs_is_left_alone(tmp_path: Path) -> None:
    found = _verdicts(tmp_path, _POLICY)
    assert (found["team"], found["kind"]) == ("", "")
    assert found["keys"].startswith(f"{DIFFERS}: result: pass, now error")
    (policy,) = migrated(tmp_path, prove=True, proof_seconds=None).objects
    assert policy.remaining is not None
    assert [rule["name"] for rule in policy.remaining["spec"]["rules"]] == ["keys"]
    assert policy.proof is not None
    assert policy.proof.equal


@pytest.mark.parametrize(
    ("text", "options"), [(_POLICY, {"split": False}), (_POLICY + _EXCEPTION, {})]
)
def test_where_rules_stay_together_they_all_are_left(
    tmp_path: Path, text: str, options: dict[str, Any]
) -> None:
    found = _verdicts(tmp_path, text, **options)
    assert set(found.values()) == {DIFFERS}


def test_a_policy_of_which_every_rule_differs_is_left_whole(tmp_path: Path) -> None:
    before, rest = _POLICY.split("    - name: team")
    keys = rest[rest.index("    - name: keys") : rest.index("    - name: kind\n")]
    assert _verdicts(tmp_path, before + keys) == {"keys": DIFFERS}


def test_a_rule_that_differs_next_to_one_that_is_left_is_left(tmp_path: Path) -> None:
    verdicts = _verdicts(tmp_path, _TEXTS["entangled"])
    assert "whose elements may have no names" in verdicts["two"]
    assert (verdicts["label"], verdicts["after"]) == (
        "",
        f"{DIFFERS} next to the other rules of its policy",
    )
