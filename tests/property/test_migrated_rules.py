"""Whatever a rule converts to compiles: with our type checker, and with Kyverno's own compiler."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.addons.migrate.convert import convert
from chartkit.errors import CompileError
from chartkit.model import Body, Resource
from tests.draws import draws
from tests.property.legacy_rules import legacy_rules
from tools.fuzz_policies import Kyverno

_CHECKOUT: Final = "KYVERNO_CHECKOUT"
"""The environment variable with the folder of Kyverno's source."""


def _policy(rule: Body) -> Resource:
    metadata = {"name": "p"}
    body = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": metadata}
    return Resource({**body, "spec": {"background": False, "rules": [rule]}})


def _documents(rule: Body) -> tuple[Body, ...]:
    """Return what a rule becomes, which compiles; nothing of one that Kyverno refuses."""
    with suppress(CompileError):
        conversion = convert(_policy(rule))
        (outcome,) = conversion.outcomes
        assert "that it becomes is refused" not in outcome.reason
        return conversion.documents
    return ()


@draws(400)
@given(rule=legacy_rules())
def test_what_a_rule_becomes_compiles(rule: Body) -> None:
    _documents(rule)


@pytest.fixture(scope="module")
def kyverno(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kyverno]:
    """Kyverno's engine; skips where it cannot be built."""
    checkout = os.environ.get(_CHECKOUT)
    if checkout is None or shutil.which("go") is None:
        pytest.skip(f"Go and Kyverno's source, which {_CHECKOUT} names, are needed")
    program = Kyverno(Path(checkout), tmp_path_factory.mktemp("kyverno"))
    yield program
    program.close()


@pytest.mark.slow
@draws(200)
@given(rules=st.lists(legacy_rules(), min_size=10, max_size=20))
def test_kyverno_compiles_what_a_rule_becomes(kyverno: Kyverno, rules: list[Body]) -> None:
    documents = [
        {**body, "metadata": {**body["metadata"], "name": f"{number}-{body['metadata']['name']}"}}
        for number, rule in enumerate(rules)
        for body in _documents(rule)
    ]
    case = {"policies": documents, "resource": {"apiVersion": "v1", "kind": "Pod"}}
    answer = kyverno.ask({**case, "operation": "CREATE", "exceptions": []})
    assert not answer.get("error")
    assert not answer.get("panic")
    assert answer["refused"] == {}
