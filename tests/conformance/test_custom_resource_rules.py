"""Rules of custom definitions are refused as Kubernetes refuses them."""

import json
import subprocess
from pathlib import Path

import pytest

from chartkit.documents.reader import parse_yaml
from chartkit.model import Resource
from chartkit.scan.custom_resources.definitions import read_definitions
from tests.conformance.definitions import build_judge
from tests.conformance.test_custom_resources import SCHEMA, definition_of

_RULES = (
    *("self.size > 1", "self.size == '1'", "self.siez > 1", "self.size > 1.5", "self.mode > 1"),
    *("self.share > 1", "self.share > 1.5", "self.flag", "self.flag == 'true'", "self.port == 1"),
    *("self.port.startsWith('a')", "type(self.port) == string", "has(self.nothing)"),
    *("self.every < duration('1h')", "self.every < 5", "self.when.getFullYear() > 2"),
    *("self.tags.exists(t, t == 1)", "self.tags.exists(t, t == 'a')", "self.tags + 'a' == 'b'"),
    *("self.ports.all(p, p.number > 0)", "self.ports.all(p, p.nmber > 0)", "self.limits.cpu == 1"),
    *("self.limits['cpu'] == '1'", "self.limits.all(k, self.limits[k] == '1')", "self.free.a == 1"),
    *(
        "self.free.known.x == 'a'",
        "self.template.kind == 'a'",
        "self.template.metadata.name == 'a'",
    ),
    *(
        "self.template.metadata.labels == {}",
        "self.template.spec.x == 1",
        "self.every__dash__one == ''",
    ),
    *(
        "self.__namespace__ == 'a'",
        "self.namespace == 'a'",
        "self == oldSelf",
        "1",
        "'a'",
        "self.size +",
    ),
    *(
        "self.size == 1 ? true : 'a'",
        "oldSelf.size == '1'",
        "self.choice == self.some",
        "[self] == [1]",
    ),
)
_EXPRESSIONS = (
    "'a'",
    "self.mode",
    "self.size",
    "string(self.size)",
    "self.nothing",
    "'a' + self.size",
)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Go program that judges as the API server does."""
    return build_judge(tmp_path_factory.mktemp("judge"))


@pytest.mark.slow
def test_rules_of_definitions_are_refused_as_by_kubernetes(judge: Path) -> None:
    """The types of `self`, and message expressions."""
    rules = [{"rule": each} for each in _RULES]
    rules += [{"rule": "true", "messageExpression": each} for each in _EXPRESSIONS]
    for rule in rules:
        schema = parse_yaml(SCHEMA)
        schema["properties"]["spec"]["x-kubernetes-validations"] = [rule]
        definition = definition_of(schema)
        asked = json.dumps({"definitions": [definition], "objects": []})
        done = subprocess.run([judge], input=asked, capture_output=True, text=True, check=True)
        texts = json.loads(done.stdout)["definitions"]["widgets.example.com"]
        expected = any("compil" in each or "must evaluate" in each for each in texts)
        found = read_definitions([Resource(definition)]).faults
        assert bool(found) == expected, (rule, texts, found)
