"""The list of what a release requires."""

import re

from tests.unit.tools.test_lock import EXTRAS, LOCK, PINS, RANGES
from tools.sbom import bill

BILL = bill(LOCK, RANGES, EXTRAS)
COMPONENTS = {each["name"]: each for each in BILL["components"]}


def test_what_is_shipped_is_listed_and_what_tests_need_is_not() -> None:
    assert {"click", "requests", "urllib3", "cryptography", "kubernetes"} <= set(COMPONENTS)
    assert not {"pytest", "mypy", "hypothesis", "mkdocs-material"} & set(COMPONENTS)
    scopes = {name: COMPONENTS[name]["scope"] for name in ("click", "urllib3", "kubernetes")}
    assert scopes == {"click": "required", "urllib3": "required", "kubernetes": "optional"}


def test_each_component_has_its_version_and_hashes() -> None:
    for name, component in COMPONENTS.items():
        assert component["purl"] == f"pkg:pypi/{name}@{PINS[name]}"
        assert component["hashes"]
        for each in component["hashes"]:
            assert each["alg"] == "SHA-256"
            assert re.fullmatch("[0-9a-f]{64}", each["content"])


def test_dependencies_lead_to_components() -> None:
    needs = {each["ref"]: each["dependsOn"] for each in BILL["dependencies"]}
    assert set(needs) == {*COMPONENTS, "chartkit"}
    assert {name for below in needs.values() for name in below} == set(COMPONENTS)
    assert {"certifi", "idna", "urllib3"} <= set(needs["requests"])
    assert "click" in needs["chartkit"]
    assert "charset-normalizer" not in needs["chartkit"]


def test_the_same_lock_gives_the_same_list() -> None:
    assert bill(LOCK, RANGES, EXTRAS) == BILL
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", BILL["serialNumber"])
    changed = bill(LOCK.replace("# via", "# via ", 1), RANGES, EXTRAS)
    assert changed["serialNumber"] != BILL["serialNumber"]
