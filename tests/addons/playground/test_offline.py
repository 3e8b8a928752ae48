"""The page asks for nothing but its own files, and its worker cannot ask for anything else."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from chartkit.addons.playground.server import POLICY
from tests.addons.playground.browser import asked, opened, served
from tests.browser.test_html_report import CHROMIUM

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="no Playwright here"),
]
_LONG = 300_000
_FETCHES = """async ([script, address]) => {
  const text = `const said = await fetch("${address}").then(() => "asked", () => "refused");` +
    `const evaluated = (() => { try { return eval("1"); } catch { return "refused"; } })();` +
    `self.postMessage([said, evaluated, typeof WebAssembly.Module]);`;
  const source = new Blob([text], {type: "text/javascript"});
  const worker = new Worker(URL.createObjectURL(source), {type: "module"});
  return await new Promise((resolve) => { worker.onmessage = (event) => resolve(event.data); });
}"""


def test_every_request_is_for_a_file_of_the_page(playground_page: Path) -> None:
    from playwright.sync_api import expect

    requests: list[str] = []
    faults: list[str] = []
    with served(playground_page) as address, opened() as page:
        page.context.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text))
        page.goto(address)
        expect(page.locator("#engine")).to_contain_text("runs in this page", timeout=_LONG)
        result = re.compile("fail|pass")
        expect(page.locator("#evaluate-summary")).to_contain_text(result, timeout=_LONG)
        # Everything is there: from now on the network may be gone.
        page.context.set_offline(True)
        before = len(requests)
        page.get_by_role("tab", name="Migrate").click()
        proof = page.locator("#migrate-summary")
        expect(proof).to_contain_text("Proved equal", timeout=_LONG)
        page.get_by_role("tab", name="Library").click()
        expect(page.locator("#library-summary")).to_contain_text("policies", timeout=_LONG)
        page.get_by_role("tab", name="Expressions").click()
        expect(page.locator("#expressions-summary")).to_contain_text("type", timeout=_LONG)
        assert requests[before:] == []
    outside = [each for each in requests if not each.startswith((address, "blob:" + address))]
    assert [each for each in outside if not each.startswith("data:")] == []
    assert any(each.endswith(".wasm") for each in requests)
    assert faults == []


def test_a_worker_of_the_page_has_its_policy(playground_page: Path) -> None:
    with served(playground_page) as address, served(playground_page) as other, opened() as page:
        # A host that sends no headers: the policy is that of the page's text.
        page.route(
            address,
            lambda route: route.fulfill(
                body=(playground_page / "index.html").read_bytes(), content_type="text/html"
            ),
        )
        page.goto(address)
        said, evaluated, compiles = page.evaluate(_FETCHES, ["", other])
    assert (said, evaluated, compiles) == ("refused", "refused", "function")


def test_the_policy_is_in_the_page(playground_page: Path) -> None:
    text = (playground_page / "index.html").read_text("utf-8")
    assert f'http-equiv="Content-Security-Policy" content="{POLICY}"' in text
    assert re.findall(r"<script(?![^>]* src=)|\son\w+=|style=", text) == []
    assert "unsafe-inline" not in POLICY
    assert "'unsafe-eval'" not in POLICY


def test_the_worker_answers_after_what_is_too_deep_for_it(playground_page: Path) -> None:
    deep = {"language": "cel", "expression": "1" + "+1" * 3_000, "data": "{}"}
    plain = {**deep, "expression": "1+1"}
    ready, (first, second) = asked(playground_page, [("expression", deep), ("expression", plain)])
    assert ready["ready"]
    assert "error" in first or first["result"]["value"] in (None, "3001")
    assert second["result"]["value"] == "2"
