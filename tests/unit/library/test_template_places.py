"""library.template_places: fields of a rendered policy, in the template of its author."""

import pytest

from chartkit.documents.reader import Source, parse_yaml
from chartkit.library.templating import placed

TEMPLATE = Source(
    "policy.yaml",
    """\
<%# A comment
    of two lines. %>
kind: ClusterPolicy
spec:
  rules:
    - name: one
      validate:
        message: <%= message("one") %>
        deny: {conditions: [a == b]}
<% if more %>
    - name: two
<% endif %>
  list:
    - same
  text: >-
    it is <%=
      value %>
""",
)
ONE = """\
kind: ClusterPolicy
spec:
  rules:
    - name: one
      validate:
        message: hello
        deny: {conditions: [a == b]}
  list: [same]
  added: true
  text: it is so
"""
TWO = ONE.replace("  list:", "    - name: two\n  list:")


@pytest.mark.parametrize(
    ("text", "pointer", "place"),
    [
        (TWO, "/spec/rules/0/validate/message", "8:9"),
        (TWO, "/spec/rules/1/name", "11:7"),
        (TWO, "/spec/rules/0/validate/missing", "7:7"),
        (TWO, "/spec/added", "4:1"),
        (TWO, "/spec/list/0", "14:7"),
        (TWO, "/spec/text", "15:3"),
        (TWO, "/other", "1"),
        # A list of another length has no items at known places.
        (ONE, "/spec/rules/0/name", "5:3"),
    ],
)
def test_fields_are_where_the_template_has_them(text: str, pointer: str, place: str) -> None:
    location = placed(parse_yaml(text), TEMPLATE).location
    assert str(location) == "policy.yaml:1"
    assert str(location.within(pointer)) == f"policy.yaml:{place}"
    assert location.value_of(pointer) is None


def test_characters_of_texts_without_tags_have_their_place() -> None:
    location = placed(parse_yaml(TWO), TEMPLATE).location
    found = location.character("/spec/rules/0/validate/deny/conditions/0", 5)
    assert str(found) == "policy.yaml:9:34"
    assert str(location.character("/spec/text", 6)) == "policy.yaml:15:3"
    assert str(location.character("/spec/rules/7", 6)) == "policy.yaml:5:3"


def test_a_template_that_is_no_yaml_without_its_tags_has_the_place_of_the_file() -> None:
    template = Source("p.yaml", "a: [<% if x %>\n")
    location = placed({"a": [1]}, template).location
    assert str(location.within("/a/0")) == str(location.character("/a/0", 1)) == "p.yaml:1"
