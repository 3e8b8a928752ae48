"""chartkit.network.cluster.cleaning: no value of a Secret is left in what is shown of it."""

import json
from typing import Any

import pytest

from chartkit.model import Body
from chartkit.network.cluster.cleaning import without_secret_values
from tests.data import from_table

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def secret(**fields: Any) -> Body:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields}


@from_table("fields")
def test_values_are_hidden(fields: Body) -> None:
    one, other = secret(**fields), secret(**json.loads(json.dumps(fields).replace("hush", "HUSH")))
    for hidden in (
        without_secret_values(one),
        without_secret_values(one, other),
        without_secret_values(one, secret()),
        without_secret_values(one, {"metadata": "x", "data": "x"}),
    ):
        assert "hush" not in json.dumps(hidden)
    assert without_secret_values(one, other) != without_secret_values(other, one)
    assert without_secret_values(one, one) == without_secret_values(one)


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"kind": "ConfigMap", "data": {"a": "b"}},
        {**secret(data={"a": "b"}), "apiVersion": "x/v1"},
    ],
)
def test_other_objects_stay(body: Body | None) -> None:
    assert without_secret_values(body) is body
