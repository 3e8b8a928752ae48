"""Old values of another type than the old chart took: never an error of ours, never made up."""

import json
from collections.abc import Iterator

import pytest

from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.model import Json, value_at
from chartkit.values.moved import LAST_OF_TWO, rows
from tests.addons.migrate.values.values import asked, body, document, migrated
from tests.data import from_table

WRONG: tuple[Json, ...] = (
    *(None, 1, 1.5, True, "x, y"),
    {"a": "b,c", "d": {}},
    [None],
    ["a,b", {"c": ["d,e"]}],
    [["a", "b,c"], {"a": "b,c", "d": {}}],
)


def texts(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("wrong", WRONG, ids=str)
@pytest.mark.parametrize("chart", ["kyverno", "kyverno-policies", "policy-reporter"])
def test_values_of_any_type(chart: str, wrong: Json) -> None:
    for key, row in rows(chart).items():
        values: Json = wrong
        for name in reversed(key):
            values = {name: values}
        if chart == "kyverno" and row.span.first <= LAST_OF_TWO:
            values["installCRDs"] = True
        migration = migrated(dump_yaml(values), None, chart)
        made_up = [each for each in texts(body(migration)) if set(each) & set("{}[]'\"")]
        assert made_up == [], key


NO_LIST = ("{a: '1,2', b: 3}", "[{a: '1,2'}]", "[[a, 'b,c']]", "5", "true", "[null, a]", "[1, 'a']")


@pytest.mark.parametrize("value", NO_LIST)
@pytest.mark.parametrize(
    "key", ["config.excludeGroupRole", "config.excludeUsername", "resourceFiltersExcludeNamespaces"]
)
def test_what_is_no_list_of_texts_is_left_to_people(key: str, value: str) -> None:
    section, _, name = key.rpartition(".")
    text = f"{section}: {{{name}: {value}}}" if section else f"{name}: {value}"
    migration = migrated(f"{text}\ninstallCRDs: true\n")
    assert key in asked(migration)
    [why] = [step.why for step in migration.steps if step.key == key]
    assert why == "A list of texts stood there in every chart."


@from_table("image", "left", "moved")
def test_the_half_of_an_image_that_is_no_text_is_left(image: str, left: str, moved: str) -> None:
    migration = migrated(f"image: {image}\ninstallCRDs: true\n")
    assert f"image.{left}" in asked(migration)
    assert moved in texts(body(migration))


@pytest.mark.parametrize("key", ["k" * 200, "a\nb", "? ", "é" * 130, "- x: y " * 30])
def test_keys_that_yaml_writes_on_several_lines_stay_on_one(key: str) -> None:
    values: Json = {"replicaCount": 1, "extra": [{key: "1", "a": {key: ["a", {key: "b"}]}}]}
    for text in (json.dumps(values), dump_yaml(values)):
        assert body(migrated(text))["extra"] == values["extra"]


def test_a_key_that_is_too_long_for_one_line_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot be rearranged|did not find expected"):
        migrated(json.dumps({"replicaCount": 1, "extra": [{"k" * 1100: {"a": 1}}]}))


@from_table("key", "value")
def test_what_cannot_be_read_is_never_called_empty(key: str, value: str) -> None:
    first, _, rest = key.partition(".")
    text = f"{first}: {{{rest}: {value}}}\n" if rest else f"{first}: {value}\n"
    migration = migrated(text, "2.0")
    assert key in asked(migration)
    if key.startswith("config"):
        assert value_at(body(migration), tuple(key.split("."))) == value_at(
            document(text).body, tuple(key.split("."))
        )
    else:
        assert migration.kept == (key,)


def test_webhooks_in_a_text_are_written_as_a_mapping() -> None:
    values = {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["kube-system"]}]}
    wanted = {"namespaceSelector": values}
    migration = migrated(f"config: {{webhooks: '{json.dumps([wanted])}'}}\n", "2.5")
    assert body(migration) == {"config": {"webhooks": wanted}}
    assert asked(migration) == {"config.webhooks"}
    assert "excluded nothing" in migration.steps[0].why


def test_an_empty_first_selector_is_named_for_what_it_did() -> None:
    text = "config: {webhooks: [{}, {objectSelector: {matchLabels: {a: b}}}]}\n"
    (step,) = migrated(text, "2.5").steps
    assert step.why == "Its first entry is empty, and that alone counted: it excluded nothing."
