import pytest

from chartkit.documents.reader import read_text
from chartkit.errors import InputError
from chartkit.model import Body
from chartkit.values.lint.files import defaults, fix_values


@pytest.mark.parametrize(
    ("text", "expected", "ids"),
    [
        (
            "# top\npolicyExceptions: # why\n  enabled: true\nx: 1 # last\n",
            "# top\nx: 1 # last\nfeatures:\n  policyExceptions: # why\n    enabled: true\n",
            ["CK007"],
        ),
        (
            "features: {logging: {format: json}}\nadmissionController: {logging: {format: text}}\n",
            None,
            [],
        ),
        (
            "admissionController:\n  logging: {format: json}\n  replicas: 3\n",
            "admissionController:\n  replicas: 3\nfeatures:\n  logging: {format: json}\n",
            ["CK007"],
        ),
        (
            "config:\n  webhooks:\n  - objectSelector:\n      matchLabels: {a: b}  # why\n",
            "config:\n  webhooks:\n    objectSelector:\n      matchLabels: {a: b}  # why\n",
            ["CK008"],
        ),
        ("config:\n  webhooks:\n  - a: 1\n  - b: 2\n", None, []),
        ("config:\n  webhooks: []\n", None, []),
        ("", None, []),
        ("- a list\n", None, []),
    ],
)
def test_fixes(text: str, expected: str | None, ids: list[str]) -> None:
    fixed, done = fix_values(text, "x.yaml", defaults(None))
    assert done == ids
    if expected is None:
        assert fixed == text
        return
    assert body(fixed) == body(expected)
    for comment in ("# top", "# why", "# last"):
        assert (comment in fixed) == (comment in text)
    assert fix_values(fixed, "x.yaml", defaults(None)) == (fixed, [])


def test_json_stays_json() -> None:
    text = '{"policyExceptions": {"enabled": true},\n "x": 1}\n'
    fixed, _ = fix_values(text, "x.json", defaults(None))
    assert fixed == '{"x": 1,\n "features": {"policyExceptions": {"enabled": true}}}\n'


def test_what_cannot_be_edited() -> None:
    webhooks = "config:\n  webhooks:\n  - a: 1\n"
    with pytest.raises(
        InputError, match=r"^x.yaml:1:1: cannot be edited without .*'y' is not a string"
    ):
        fix_values(f"y: 1\n{webhooks}", "x.yaml", {})
    moved = "policyExceptions: &x {enabled: true}\na: *x\n"
    with pytest.raises(InputError, match="cannot be edited without a change to other lines: "):
        fix_values(moved, "x.yaml", {"features": {"policyExceptions": {}}})
    assert fix_values("a: 2001-13-45\n", "x.yaml", {}) == ("a: 2001-13-45\n", [])
    with pytest.raises(InputError, match=r"x.yaml:2:1: the key 'a' stands here a second time"):
        fix_values("a: 1\na: 2\n", "x.yaml", {})


def body(text: str) -> Body:
    found: Body = read_text(text, "x")[0].body
    return found
