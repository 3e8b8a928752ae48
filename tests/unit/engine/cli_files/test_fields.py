"""The files of Kyverno's command line are decoded strictly, and regardless of case."""

import pytest

from chartkit.documents.reader import read_text
from chartkit.engine.cli_files.user_files import (
    METADATA,
    VALUES,
    decoded,
    read_context,
    read_user_info,
    read_values,
)
from chartkit.errors import InputError
from chartkit.model import Body, Json, Location
from tests.data import from_table
from tests.errors import error_of

PLACE = Location("values.yaml", 1, 1)


def test_fields_have_their_own_names_and_scalars_become_texts() -> None:
    body: Json = {
        "GLOBALVALUES": {"Kept": 1},
        "namespaceselector": [{"Name": "n", "labels": {"a": 1, "b": True, "c": 1.5, "d": None}}],
        "policies": [],
    }
    assert decoded(body, VALUES, "values", PLACE) == {
        "globalValues": {"Kept": 1},
        "namespaceSelector": [
            {"name": "n", "labels": {"a": "1", "b": "true", "c": "1.5", "d": None}}
        ],
        "policies": [],
    }


def test_labels_of_namespaces_are_texts() -> None:
    body: Body = {"namespaceSelector": [{"name": "n", "labels": {"managed": True}}]}
    assert read_values(body, PLACE).labels["n"] == {"managed": "true"}


@from_table("text", "message")
def test_what_values_do_not_have(text: str, message: str) -> None:
    (document,) = read_text(f"{text}\n", "values.yaml")
    assert message in str(error_of(InputError, read_values, document.body, document.location))


def test_what_other_files_do_not_have() -> None:
    with pytest.raises(InputError, match="unknown field 'nam'"):
        read_user_info({"metadata": {"nam": "x"}}, PLACE)
    for text, message in (
        ("spec: {resource: []}", "unknown field 'resource'"),
        ("spec: {images: [{image: a, labels: {}}]}", "unknown field 'labels'"),
        ("spec: {resources: [{metadata: {}}]}", "has no kind"),
    ):
        (document,) = read_text(f"kind: Context\n{text}\n", "context.yaml")
        with pytest.raises(InputError, match=message):
            read_context(document)


def test_metadata_of_a_name_of_its_own() -> None:
    body: Json = {"labels": {"a/b~c": "d"}, "generation": 1}
    assert decoded(body, METADATA, "metadata", PLACE) == body
