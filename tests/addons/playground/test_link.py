"""Links of the HTML report to the playground."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml

from chartkit.addons.playground.link import links
from chartkit.model import Resource
from tests.data import beside
from tests.e2e.command import chartkit

_TEXTS = beside(__file__)

PAGE = "https://policies.example/playground/"
POLICY = _TEXTS["policy"]
POD = _TEXTS["pod"]
SECRET = _TEXTS["secret"]


def carried(link: str) -> Any:
    """Return what a link carries, as docs/playground/link.ts reads it."""
    text = link.partition("#1.")[2]
    given = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return json.loads(zlib.decompress(given, wbits=-zlib.MAX_WBITS))


def packed(text: bytes) -> str:
    """Return the fragment of any text, as a hostile link may have it."""
    given = zlib.compress(text, wbits=-zlib.MAX_WBITS)
    return "1." + base64.urlsafe_b64encode(given).rstrip(b"=").decode()


def test_a_finding_opens_its_policy_and_object(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "objects.yaml").write_text(f"{POD}---\n{SECRET}")
    scan = ("scan", "objects.yaml", "-p", "policy.yaml", "-o", "html=report.html")
    assert chartkit(tmp_path, *scan, "--playground", PAGE).code == 1
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.count('class="finding"') == 2
    [link] = re.findall(f'href="({PAGE}[^"]*)"', text)
    state, pod = carried(unescape(link)), yaml.safe_load(POD)
    pod["metadata"]["namespace"] = "default"
    assert yaml.safe_load(state["objects"]) == pod
    assert yaml.safe_load(state["policies"]) == yaml.safe_load(POLICY)
    assert chartkit(tmp_path, *scan).code == 1
    assert PAGE not in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize("address", ["javascript:alert(1)", "page", "file:///page"])
def test_an_address_of_another_scheme_is_refused(tmp_path: Path, address: str) -> None:
    done = chartkit(tmp_path, "scan", "-", "-o", "html=r.html", "--playground", address)
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "--playground takes an address that begins with https:// or http://" in done.err


@pytest.mark.parametrize(
    ("policy", "body"),
    [
        ({}, {"kind": "Pod"}),
        ({"kind": "ClusterPolicy"}, {}),
        ({"kind": "ClusterPolicy", "spec": {"generate": {"kind": "Secret"}}}, {"kind": "Pod"}),
        ({"kind": "ClusterPolicy"}, {"kind": "List", "items": [{"kind": "Secret"}]}),
        ({"kind": "ClusterPolicy"}, {"data": [f"{number * 7919:x}" for number in range(9999)]}),
    ],
    ids=["no policy", "no object", "a Secret that is generated", "a Secret in a list", "too long"],
)
def test_no_link(policy: dict[str, Any], body: dict[str, Any]) -> None:
    link = links(PAGE)
    assert link(policy, Resource(body)) == ""
    assert link({"kind": "ClusterPolicy"}, Resource({"kind": "Pod"})).startswith(f"{PAGE}#1.")
