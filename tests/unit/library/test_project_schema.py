"""The schema of chartkit.yaml for editors names policies, parameters and profiles."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from chartkit.bundled import library_dir
from chartkit.library.policies import read_library
from chartkit.library.profiles import project_schema

SCHEMA: dict[str, Any] = project_schema(read_library([library_dir()]).policies.values())


def test_it_is_a_schema_that_takes_what_is_right() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    text = """
profiles: [eks-best-practices, ./ours.yaml]
defaults: {kyverno: "1.19", eks: "1.34", policies: {disallow-host-path: {enabled: false}}}
environments:
  prd:
    parameters: {podSecurityVersion: v1.34}
    policies:
      restrict-image-registries: {parameters: {allowedRegistries: [reg.example.com]}}
      of-our-own: {parameters: {anything: 1}}
"""
    assert not list(Draft202012Validator(SCHEMA).iter_errors(yaml.safe_load(text)))


@pytest.mark.parametrize(
    "settings", [{"parameters": {"allowedRegistry": []}}, {"parameters": {"allowedRegistries": 3}}]
)
def test_a_parameter_is_one_that_the_policy_has(settings: dict[str, Any]) -> None:
    policies = {"restrict-image-registries": settings}
    body = {"environments": {"prd": {"policies": policies}}}
    assert list(Draft202012Validator(SCHEMA).iter_errors(body))


def test_names_are_completed() -> None:
    found = SCHEMA["$defs"]["environment"]["properties"]
    assert "disallow-host-path" in found["policies"]["properties"]
    assert found["parameters"]["properties"]["podSecurityVersion"]["description"]
    assert "pss-baseline" in SCHEMA["$defs"]["profiles"]["items"]["anyOf"][0]["enum"]


def test_the_repository_is_right_by_it() -> None:
    body = yaml.safe_load((Path(__file__).parents[3] / "chartkit.yaml").read_text())
    assert not list(Draft202012Validator(SCHEMA).iter_errors(body))
