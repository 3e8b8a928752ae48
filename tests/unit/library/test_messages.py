"""Messages of policies: written once in metadata.yaml, printed by both forms."""

from pathlib import Path

import pytest

from chartkit.documents.reader import parse_yaml
from chartkit.errors import InputError
from chartkit.library.policies import FolderPolicy, read_library
from chartkit.library.rendered import read_templates
from chartkit.model import Body
from tests.policy_library import library
from tests.unit.project.project_files import POLICY, write_policy

_PARAMETER = "parameters: {least: {type: integer, default: 2, description: How many.}}\n"
_BEGINNING = 60
"""The characters of a message that no template has in common with the other."""


def _policy(tmp_path: Path, message: str, messages: str) -> FolderPolicy:
    text = POLICY.replace("message: not so", f"message: {message}")
    write_policy(tmp_path, "mine", text, more=f"{_PARAMETER}messages:\n{messages}")
    (policy,) = read_library([tmp_path]).policies.values()
    return policy


def _message(policy: FolderPolicy) -> str:
    (rendered,) = read_templates([policy])
    rule: Body = rendered.bodies[0]["spec"]["rules"][0]
    return str(rule["validate"]["message"])


@pytest.mark.parametrize(
    ("call", "message", "printed"),
    [
        ("message('it')", "Not so.", "Not so."),
        ("message('it')", 'A "quote", a \\, {{ request.name }}: x', None),
        ("message('it')", " ".join(["many words, {{ request.object.kind }}"] * 20), None),
        ("message('it', parameter('least'))", "Not %d.", "Not 2."),
        ("message('it', message_when(version_at_least('v', '1.25'), 'part'))", "A%s.", "A and b."),
    ],
)
def test_a_message_is_printed(tmp_path: Path, call: str, message: str, printed: str | None) -> None:
    literal = message.replace("'", "''")
    version = "{type: string, default: '1.30', description: Which.}"
    text = POLICY.replace("message: not so", f"message: <%= {call} %>")
    more = f"parameters: {{least: {_PARAMETER.partition('least: ')[2][:-2]}, v: {version}}}\n"
    messages = f"messages:\n  it: '{literal}'\n  part: ' and b'\n"
    write_policy(tmp_path, "mine", text, more=more + messages)
    (policy,) = read_library([tmp_path]).policies.values()
    assert _message(policy) == (message if printed is None else printed)


def test_a_message_that_is_not_there_is_refused(tmp_path: Path) -> None:
    policy = _policy(tmp_path, "<%= message('its') %>", "  it: Not so.\n")
    with pytest.raises(InputError, match="the policy has no message 'its'") as caught:
        read_templates([policy])
    assert caught.value.hint == "did you mean 'it'?"


def test_a_variable_next_to_values_is_refused(tmp_path: Path) -> None:
    policy = _policy(
        tmp_path, "<%= message('it', parameter('least')) %>", "  it: '{{ request.name }}: %d'\n"
    )
    with pytest.raises(InputError, match=r"message 'it' has \{\{ and values"):
        read_templates([policy])


def _all_messages(bodies: tuple[Body, ...]) -> set[str]:
    specs = [body["spec"] for body in bodies]
    rules = [rule.get("validate", {}) for spec in specs for rule in spec.get("rules", ())]
    validations = [each for spec in specs for each in spec.get("validations", ())]
    return {each["message"] for each in rules + validations if "message" in each}


def test_no_policy_of_the_library_repeats_a_message_by_hand() -> None:
    repeated, common = [], 0
    for rendered in read_templates(list(library().policies.values())):
        policy = rendered.policy
        assert isinstance(policy, FolderPolicy)
        both = _all_messages(rendered.bodies) & _all_messages(rendered.cel_bodies)
        common += bool(both)
        for source in filter(None, (policy.template, policy.cel)):
            words = " ".join(source.text.split())
            repeated += [(source.file, each) for each in both if each[:_BEGINNING] in words]
    assert repeated == []
    assert common > 50


@pytest.mark.parametrize("policy", library().policies.values(), ids=lambda policy: policy.name)
def test_every_message_is_printed_by_both_forms(policy: FolderPolicy) -> None:
    assert policy.cel is not None
    body = parse_yaml((policy.folder / "metadata.yaml").read_text("utf-8"))
    for name in body.get("messages", {}):
        for source in (policy.template, policy.cel):
            assert f'"{name}"' in source.text, source.file
