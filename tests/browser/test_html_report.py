"""The HTML report in a real Chromium: filters, print, colours, accessibility, hostile text."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chartkit.report import ReportOptions
from chartkit.report.stored import changes, compared, read_report
from tests.unit.report.samples import HOSTILE, facts, hostile, options, samples, written

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="no Playwright here"),
]
Opened = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Containers run as root, for whom Chromium has no sandbox.
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Opens a page that may ask for nothing, log no error and show no dialog."""
    faults: list[str] = []
    contexts = []

    def open_page(text: str, **given: Any) -> Page:
        file = tmp_path / "report.html"
        file.write_text(text, "utf-8")
        context = browser.new_context(**given)
        contexts.append(context)
        page = context.new_page()
        own = file.as_uri()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("request", lambda request: faults.extend({request.url} - {own}))
        page.goto(own)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def report() -> str:
    return written("html", options(), samples())


def visible(page: Page) -> list[str]:
    found = page.locator(".finding:visible .head b").all_inner_texts()
    return [str(each) for each in found]


@pytest.mark.slow
def test_filters_choose_findings(opened: Opened) -> None:
    page = opened(report())
    assert len(visible(page)) == 6
    page.select_option("select[name=state]", "warn")
    assert visible(page) == ["Pod/db"]
    assert page.inner_text("#shown") == "1"
    assert page.locator(".rule:visible").count() == 1
    page.click("button[type=reset]")
    page.locator("#shown", has_text="6").wait_for()
    page.fill("input[name=text]", "SECURITYCONTEXT.privileged")
    assert visible(page) == ["Pod/shop/web", "Pod/shop/web"]
    page.select_option("select[name=place]", "(cluster)")
    assert visible(page) == []
    assert page.locator(".rule:visible").count() == 0


@pytest.mark.slow
def test_totals_and_tables_are_right(opened: Opened) -> None:
    page = opened(report())
    totals = page.locator(".totals li").all_inner_texts()
    assert totals[:4] == ["4 findings", "2 objects with findings", "1 known", "1 suppressed"]
    rows = [row.split("\t") for row in page.locator("#policies + div tbody tr").all_inner_texts()]
    assert ["p/r", "high", "2", "1", "1"] in [[cell.strip() for cell in row] for row in rows]
    assert page.locator("caption").all_inner_texts() == [
        "By severity",
        "By category",
        "By control of a standard",
    ]


@pytest.mark.slow
def test_pictures_show_severities_and_places(opened: Opened) -> None:
    low = {**options().policies, "p": replace(facts("p"), severity="low")}
    added = samples()
    fills = []
    for given in (options(), replace(options(), policies=low)):
        page = opened(written("html", given, added))
        ring, parts = page.locator("figure > svg").all()
        assert ring.get_attribute("aria-label") == "Findings by severity"
        assert parts.get_attribute("aria-label") == "Findings by namespace and severity"
        assert {"shop", "default"} & set(parts.locator("text").all_text_contents())
        fills.append(
            ring.locator(".slice").evaluate_all(
                "all => all.map(one => getComputedStyle(one).stroke)"
            )
        )
    assert page.inner_text(".legend").strip() == "low"
    assert len(fills[0]) == len(fills[1]) == 1
    assert fills[0] != fills[1]


@pytest.mark.slow
def test_controls_are_listed_with_what_fails(opened: Opened) -> None:
    passing = {**options().policies, "good": replace(facts("good"), controls=("CIS 5.2.10",))}
    page = opened(written("html", replace(options(), policies=passing), samples()))
    rows = page.locator(".controls tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [
        ["CIS", "5.2.3", "1", "2"],
        ["CIS", "5.2.10", "1", "0"],
    ]


@pytest.mark.slow
def test_changes_of_reports_stand_side_by_side(opened: Opened, tmp_path: Path) -> None:
    found = []
    for name, part in (("old", samples()[:1]), ("new", samples()[1:])):
        file = tmp_path / f"{name}.json"
        file.write_text(written("json", options(), part))
        found.append(read_report(file))
    page = opened(compared(changes(*found)).own["html"]())
    assert page.inner_text("h1") == "What changed between two policy reports"
    assert page.locator(".totals li").all_inner_texts() == ["2 new", "2 fixed", "0 unchanged"]
    heads = page.locator("#policies + div thead th").all_inner_texts()
    assert heads[-2:] == ["fixed", "new"]
    page.select_option("select[name=place]", "fixed")
    assert set(visible(page)) == {"Pod/shop/web"}
    assert set(page.locator(".finding:visible .state").all_inner_texts()) == {"fixed"}


@pytest.mark.slow
def test_it_is_read_without_scripts(opened: Opened) -> None:
    page = opened(report(), java_script_enabled=False)
    assert page.locator(".finding").count() == 6
    assert not page.locator("#filters").is_visible()
    assert page.locator(".finding .source mark").first.inner_text() == "    image: nginx"


@pytest.mark.slow
def test_it_prints(opened: Opened) -> None:
    page = opened(report())
    assert page.locator("#filters").is_visible()
    page.emulate_media(media="print")
    assert not page.locator("#filters").is_visible()
    assert page.locator(".finding").first.is_visible()
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.slow
def test_it_follows_the_colours_of_the_system(opened: Opened) -> None:
    colours = set()
    for scheme in ("light", "dark"):
        page = opened(report(), color_scheme=scheme)
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == {"rgb(255, 255, 255)", "rgb(13, 17, 23)"}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["samples", "hostile", "empty"])
def test_it_is_accessible(kind: str, scheme: str, opened: Opened) -> None:
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("no axe-core here")
    text = HOSTILE["html"]
    pages = {
        "samples": report(),
        "hostile": written("html", ReportOptions({text: facts(text, text)}), hostile(text)),
        "empty": written("html", options(), []),
    }
    page = opened(pages[kind], color_scheme=scheme, bypass_csp=True)
    page.evaluate((Path(found.origin).parent / "axe.min.js").read_text("utf-8"))
    violations = page.evaluate("async () => (await axe.run(document)).violations")
    assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(HOSTILE))
def test_hostile_names_stay_text(case: str, opened: Opened) -> None:
    text = HOSTILE[case]
    given = ReportOptions({text: facts(text, text)}, owner_label=text)
    page = opened(written("html", given, hostile(text)))
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, link, base").count() == 0
    assert page.locator("svg").count() == page.locator(".pictures figure > svg").count() == 2
    assert page.locator("svg :is(a, image, foreignObject, style, script, use)").count() == 0
    assert page.locator("[onerror], [onmouseover], [onclick]").count() == 0
    assert page.locator(".finding").count() == 3
    protocols = page.locator("a").evaluate_all("links => links.map(link => link.protocol)")
    assert set(protocols) <= {"file:", "https:"}
