"""The page in a real Chromium: what people do there, with the engine that it loads.

It says what the command line says, and asks for nothing but its own files. All is in one file: one
process of the tests needs the page, and starts one browser.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from chartkit.addons.playground.link import fragment
from chartkit.addons.playground.server import POLICY as CONTENT_POLICY
from chartkit.cli import boundary
from chartkit.cli.main import cli
from tests.addons.playground.browser import asked, launched, served
from tests.addons.playground.test_link import POD, POLICY, SECRET, carried, packed
from tests.browser.test_html_report import CHROMIUM
from tests.data import beside, tables
from tests.shared import ROOT, shared

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="no Playwright here"),
]
PATIENCE = 120_000
"""The milliseconds that a loaded machine may take for an answer."""
LONG = 600_000
SCRIPT = "text/javascript"
FETCHES = """async ([script, address]) => {
  const text = `const said = await fetch("${address}").then(() => "asked", () => "refused");` +
    `const evaluated = (() => { try { return eval("1"); } catch { return "refused"; } })();` +
    `self.postMessage([said, evaluated, typeof WebAssembly.Module]);`;
  const source = new Blob([text], {type: "text/javascript"});
  const worker = new Worker(URL.createObjectURL(source), {type: "module"});
  return await new Promise((resolve) => { worker.onmessage = (event) => resolve(event.data); });
}"""
STUCK = """
postMessage({ready: true, version: '1', seconds: 0});
onmessage = ({data: {id, input: {left_out: [left]}}}) => {
  const problem = {input: "objects", line: 1, column: 1, hint: "", level: "warning"};
  const problems = [{...problem, message: `left out: ${left}`}];
  if (left === undefined) for (const at of [0, 1]) postMessage({id, at});
  else postMessage({id, result: {rows: [], mutated: [], generated: [], problems}});
};
"""
TABS = ("evaluate", "migrate", "expressions", "library")
MORE_SECRETS = [
    '{"kind":"SecretList","items":[]}\n',
    "kind: !!str Secret\n",
    "kind: >-\n  Secret\n",
    '"k\\u0069nd": Secret\n',
    "a: &kind x\nkind: *kind\n",
    """note: '{"kind": "Secret"}'\n""",
]
_FILES: Final = tables(__file__)["files"]
"""The cases of each file, at equal distances."""
Row = tuple[str, ...]
LABELS = beside(__file__)["labels"]


@pytest.fixture(scope="module")
def address(playground_page: Path) -> Iterator[str]:
    with served(playground_page) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def plain(browser: Browser, playground_page: Path, address: str) -> Iterator[Page]:
    """A page of the address that is not the playground."""
    page = browser.new_page()
    page.set_default_timeout(LONG)
    lock = next(playground_page.glob("engine-*/*.json")).relative_to(playground_page).as_posix()
    page.goto(address + lock)
    yield page
    page.close()


def opened(browser: Browser, address: str, faults: list[str], **given: Any) -> Page:
    """Open the page in a context of its own; what it must not do is noted in faults."""
    context = browser.new_context(**given)
    context.set_default_timeout(PATIENCE)
    page, own = context.new_page(), address.split("#", 1)[0]
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: faults.extend(_outside(request.url, own)))
    page.goto(address)
    return page


def _outside(url: str, address: str) -> list[str]:
    return [] if url.startswith((address, f"blob:{address}", "data:")) else [url]


@pytest.fixture(scope="module")
def shared_page(browser: Browser, address: str) -> Iterator[tuple[Page, list[str]]]:
    """One page for the tests that need not load the engine anew, and its faults."""
    faults: list[str] = []
    page = opened(browser, address, faults)
    yield page, faults
    page.context.close()


@pytest.fixture
def page(shared_page: tuple[Page, list[str]]) -> Iterator[Page]:
    page, faults = shared_page
    page.set_viewport_size({"width": 1280, "height": 720})
    start(page)
    yield page
    assert faults == []


def start(page: Page) -> None:
    """Let the page have the policy and the Pod, and await their result."""
    address = page.url.split("#", 1)[0]
    page.goto(f"{address}#library")
    page.goto(f"{address}#{fragment(POLICY, POD)}")
    await_text(page, ".result", "Images come from our <i>registry</i>.")


def write(page: Page, field: str, text: str) -> None:
    """Replace the text of an editor with the keyboard."""
    page.locator(f"[data-field={field}] .cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    # What Chromium inserts in place of coloured text is coloured, which the page does not allow.
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def await_text(page: Page, place: str, text: str) -> None:
    page.locator(place, has_text=text).first.wait_for()


def select(page: Page, tab: str) -> None:
    page.locator(f"#tab-{tab}").click()


@pytest.fixture(scope="module")
def other_page(browser: Browser, address: str) -> Iterator[tuple[Page, list[str]]]:
    """The page in another browser, and the addresses that it asks for."""
    requests: list[str] = []
    context = browser.new_context()
    context.set_default_timeout(LONG)
    context.on("request", lambda request: requests.append(request.url))
    page = context.new_page()
    page.goto(address)
    yield page, requests
    context.close()


def test_every_request_is_for_a_file_of_the_page(
    other_page: tuple[Page, list[str]], address: str
) -> None:
    from playwright.sync_api import expect

    page, requests = other_page
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text))
    expect(page.locator("#engine")).to_contain_text("runs in this page", timeout=LONG)
    result = re.compile("fail|pass")
    expect(page.locator("#evaluate-summary")).to_contain_text(result, timeout=LONG)
    # Everything is there: from now on the network may be gone.
    page.context.set_offline(True)
    before = len(requests)
    page.get_by_role("tab", name="Migrate").click()
    expect(page.locator("#migrate-summary")).to_contain_text("Proved equal", timeout=LONG)
    page.get_by_role("tab", name="Library").click()
    expect(page.locator("#library-summary")).to_contain_text("policies", timeout=LONG)
    page.get_by_role("tab", name="Expressions").click()
    expect(page.locator("#expressions-summary")).to_contain_text("type", timeout=LONG)
    page.context.set_offline(False)
    assert requests[before:] == []
    assert [each for url in requests for each in _outside(url, address)] == []
    assert any(each.endswith(".wasm") for each in requests)
    assert faults == []


def test_a_worker_of_the_page_has_its_policy(
    browser: Browser, address: str, playground_page: Path
) -> None:
    page = browser.new_page()
    with served(playground_page) as other:
        # A host that sends no headers: the policy is that of the page's text.
        page.route(
            address,
            lambda route: route.fulfill(
                body=(playground_page / "index.html").read_bytes(), content_type="text/html"
            ),
        )
        page.goto(address)
        said, evaluated, compiles = page.evaluate(FETCHES, ["", other])
    page.close()
    assert (said, evaluated, compiles) == ("refused", "refused", "function")


def test_the_policy_is_in_the_page(playground_page: Path) -> None:
    text = (playground_page / "index.html").read_text("utf-8")
    assert f'http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}"' in text
    assert re.findall(r"<script(?![^>]* src=)|\son\w+=|style=", text) == []
    assert "unsafe-inline" not in CONTENT_POLICY
    assert "'unsafe-eval'" not in CONTENT_POLICY


def test_a_policy_is_typed_and_an_object_corrected(page: Page) -> None:
    write(page, "objects", "")
    write(page, "policies", "")
    await_text(page, "#evaluate-summary", "No")
    typed, rest = POLICY.split("metadata:")
    page.keyboard.type(typed)
    page.keyboard.insert_text(f"metadata:{rest}")
    write(page, "objects", POD)
    await_text(page, "#evaluate-summary", "1 fail")
    row = page.locator(".result", has_text="Images come from our <i>registry</i>.")
    row.wait_for()
    line = page.locator("[data-field=objects] .cm-line-error")
    assert "image: theirs.example/web:1" in line.inner_text()
    assert "Images come from our <i>registry</i>." in line.locator(".cm-note").inner_text()
    row.locator("summary", has_text="Why").click()
    await_text(page, ".why li", "spec.containers[0].image")
    row.get_by_role("button", name="Object, line 9").click()
    assert focused(page) == "Objects"
    write(page, "objects", POD.replace("theirs", "ours"))
    await_text(page, "#evaluate-summary", "1 pass")
    assert page.locator(".cm-line-error").count() == 0


def test_mistakes_of_inputs_have_their_lines(page: Page) -> None:
    write(page, "objects", "apiVersion: v1\nkind: Pod\nmetadata: {name: [}\n")
    await_text(page, ".result", "objects, line 3")
    assert "metadata" in page.locator("[data-field=objects] .cm-line-error").inner_text()
    write(page, "objects", POD)
    page.locator("#more").evaluate("details => { details.open = true }")
    page.locator("[data-field=namespaces]").fill("shop team=blue")
    await_text(page, "#namespaces-fault", "is not of the form NAMESPACE: LABEL=VALUE")
    page.locator("[data-field=namespaces]").fill("")


def test_a_policy_is_migrated_with_its_proof(page: Page) -> None:
    select(page, "migrate")
    write(page, "policy", LABELS)
    await_text(page, "#replacement .cm-line", "name: owned-namespaces")
    await_text(page, "#migrate-summary", "Proved equal")
    assert "requests asked of both" in page.locator("#migrate-summary").inner_text()
    page.locator("#try-replacement").click()
    assert page.locator("#tab-evaluate").get_attribute("aria-selected") == "true"
    write(page, "objects", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
    await_text(page, ".result .message", "A namespace names its owner.")


def test_each_part_of_an_expression_has_its_value(page: Page) -> None:
    select(page, "expressions")
    page.locator("[data-field=language]").select_option("cel")
    write(page, "data", POD)
    write(page, "expression", "object.spec.containers.size() + 2")
    await_text(page, "#expressions-results pre", "3")
    part = page.locator(".parts li", has_text="object.spec.containers.size()").last
    part.focus()
    highlighted = page.locator(".cm-part").inner_text()
    assert "object.spec.containers" in highlighted
    page.locator("[data-field=language]").select_option("jmespath")
    write(page, "expression", "spec.containers[].name | [0]")
    await_text(page, "#expressions-results pre", '"main"')


def test_a_policy_of_the_library_fills_the_first_tab(page: Page) -> None:
    select(page, "library")
    await_text(page, "#library-summary", "policies.")
    page.locator("#library-search").fill("host ports")
    card = page.locator("#library-results button", has_text="Disallow host ports")
    card.click()
    await_text(page, "[data-field=policies] .cm-line", "disallow-host-ports")
    row = page.locator(".result", has_text="disallow-host-ports").first
    row.get_by_role("button", name="Object, line").click()
    await_text(page, "[data-field=objects] .cm-line-error", "hostPort")


def test_a_link_opens_in_another_browser(page: Page, other_page: tuple[Page, list[str]]) -> None:
    write(page, "objects", "---\n".join([POD, SECRET, *MORE_SECRETS]))
    page.locator("#share").click()
    await_text(page, "#share-secrets", "7 documents hold Secrets and are left out")
    link = page.locator("#share-link").input_value()
    page.locator("#share-include").check()
    page.wait_for_function("old => document.querySelector('#share-link').value !== old", arg=link)
    whole = page.locator("#share-link").input_value()
    assert "to this machine alone" in page.locator("#share-size").inner_text()
    page.locator("#share-close").click()
    states = [carried(each) for each in (link, whole)]
    assert [SECRET in state["objects"] for state in states] == [False, True]
    assert "aGlkZGVu" not in json.dumps(states[0])
    other, _ = other_page
    other.goto(link)
    await_text(other, "#evaluate-summary", "1 fail")
    assert "theirs.example" in other.locator("[data-field=objects] .cm-line-error").inner_text()


@pytest.mark.parametrize(
    ("hostile", "reason"),
    [
        ("2.abc", "it is not of this page, or of a newer version of it"),
        ("1.%00<img src=x onerror=alert(1)>", "it is cut short or damaged"),
        (fragment(POLICY, POD)[:-20], "it is cut short or damaged"),
        ("1." + "A" * 200_000, "it has over 100,000 characters"),
        (packed(b'{"objects": "' + b" " * 20_000_000 + b'"}'), "it carries more text"),
        (packed(b"[" * 500_000), "it is cut short or damaged"),
        (packed(b'{"objects": 7}'), "what it carries is not what this page writes"),
        (packed(b'{"tab": "share-dialog"}'), "what it carries is not what this page writes"),
        (packed(b'{"__proto__": {"tab": 1}, "operation": "x"}'), "what it carries is not"),
    ],
    ids=["version", "markup", "cut", "long", "bomb", "nested", "type", "tab", "prototype"],
)
def test_a_hostile_link_is_one_line(page: Page, hostile: str, reason: str) -> None:
    assert page.locator("#notice").is_hidden()
    page.goto(f"{page.url.split('#', 1)[0]}#{hostile}")
    await_text(page, "#notice", "This link cannot be opened: ")
    assert reason in page.locator("#notice").inner_text()
    await_text(page, "[data-field=objects] .cm-line", "theirs.example")


def test_the_keyboard_is_enough(page: Page) -> None:
    press = page.keyboard.press
    page.locator("#share").focus()
    press("Tab")
    press("Tab")
    assert focused(page) == "tab-evaluate"
    for key, tab in {"ArrowLeft": "library", "Home": "evaluate", "ArrowRight": "migrate"}.items():
        press(key)
        assert focused(page) == f"tab-{tab}"
        assert page.locator(f"#panel-{tab}").is_visible()
    press("Home")
    press("Tab")
    assert focused(page) == "Policies"
    press("Escape")
    press("Tab")
    assert focused(page) == "Objects"
    press("ControlOrMeta+End")
    press("Tab")
    assert focused(page) == "Objects"
    page.keyboard.insert_text("# a comment")
    press("F8")
    outline = "element => getComputedStyle(element.parentElement.parentElement).outlineStyle"
    assert page.locator("[data-field=objects] .cm-content").evaluate(outline) == "solid"
    press("Escape")
    press("Shift+Tab")
    assert focused(page) == "Policies"


def focused(page: Page) -> str:
    """Return the ID of what has the focus, of an editor its label."""
    found = page.evaluate(
        "() => { const at = document.activeElement;"
        " return at.shadowRoot?.activeElement?.getAttribute('aria-label') || at.id; }"
    )
    return str(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_narrow(page: Page, scheme: Any) -> None:
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("no axe-core here")
    page.emulate_media(color_scheme=scheme)
    page.evaluate((Path(found.origin).parent / "axe.min.js").read_text("utf-8"))
    for tab in TABS:
        select(page, tab)
        page.locator(f"#{tab}-summary", has_text="as soon as").wait_for(state="hidden")
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 720})
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#share").click()
    assert violations(page) == []
    page.locator("#share-close").click()


def violations(page: Page) -> list[tuple[str, str]]:
    """Return the rules of axe that something breaks, each with the first element that does."""
    found = page.evaluate("async () => (await axe.run(document)).violations")
    return [(each["id"], each["nodes"][0]["html"]) for each in found]


def test_an_engine_that_cannot_start_and_one_that_never_answers(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(color_scheme="light")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.route("**/worker*.js", lambda route: route.abort())
    page.goto(address)
    await_text(page, "#notice", "The engine cannot start: ")
    assert "chartkit playground" in page.locator("#notice").inner_text()
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.locator("#theme").click()
    mute = "postMessage({ready: true, version: '1', seconds: 0})"
    page.unroute("**/worker*.js")
    page.route("**/worker*.js", lambda route: route.fulfill(content_type=SCRIPT, body=mute))
    page.clock.install()
    page.reload()
    assert page.evaluate(colour) == "rgb(13, 17, 23)"
    page.locator("#more").evaluate("details => { details.open = true }")
    for seconds, how in ((11, "It took too long, and was stopped."), (121, "after two minutes")):
        await_text(page, "#engine", "chartkit 1 runs in this page")
        page.locator("[data-field=user]").fill(how)
        page.clock.run_for(1_000 * seconds)
        if seconds < 60:
            page.locator("#stop").click()
        await_text(page, "#evaluate-summary", how)
    page.unroute("**/worker*.js")
    page.route("**/worker*.js", lambda route: route.fulfill(content_type=SCRIPT, body=STUCK))
    page.reload()
    await_text(page, "#engine", "chartkit 1 runs in this page")
    page.clock.run_for(121_000)
    await_text(page, "#evaluate-results", "left out: 1")
    context.close()


def test_the_types_of_its_sources_are_right(playground_page: Path) -> None:
    compiler = playground_page.parent / "node_modules/typescript/bin/tsc"
    command = ("node", str(compiler), "-p", str(ROOT / "docs/playground"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def cases() -> Iterator[tuple[str, list[Any], list[Any]]]:
    for name, wanted in _FILES.items():
        lines = shared(f"conformance/engine/{name}.jsonl").read_text("utf-8").splitlines()
        plain = [case for case in map(json.loads, lines) if is_plain(case)]
        for number in range(wanted):
            case = plain[number * len(plain) // wanted]
            policies = case.get("policies") or [case["policy"]]
            yield f"{name}/{case['id']}", policies, case["resources"]


def is_plain(case: dict[str, Any]) -> bool:
    """Report whether a case has policies and objects alone."""
    others = ("values", "exceptions", "contexts", "context", "userinfo", "userInfo", "json")
    return bool(case.get("resources")) and not any(case.get(other) for other in others)


def test_300_cases_give_what_the_command_line_gives(
    plain: Page,
    playground_page: Path,
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = list(cases())
    assert len(given) == 300
    texts = [("---\n".join(map(written, policies)), "---\n".join(map(written, objects)))
             for _, policies, objects in given]  # fmt: skip
    deep = {"language": "cel", "expression": "1" + "+1" * 3_000, "data": "{}"}
    questions = [("expression", deep), ("expression", {**deep, "expression": "1+1"})]
    questions += [
        ("evaluate", {"policies": policies, "objects": objects}) for policies, objects in texts
    ]
    ready, (first, second, *answers) = asked(plain, playground_page, address, questions)
    # The worker answers after what is too deep for it.
    assert ready["ready"]
    assert "error" in first or first["result"]["value"] in (None, "3001")
    assert second["result"]["value"] == "2"
    monkeypatch.chdir(tmp_path)
    differing, rows = {}, 0
    for (name, _, _), (policies, objects), answer in zip(given, texts, answers, strict=True):
        (tmp_path / "policies.yaml").write_text(policies)
        (tmp_path / "objects.yaml").write_text(objects)
        out, err = scanned("-p", "policies.yaml", "objects.yaml", "-o", "json")
        page, line = of_page(answer["result"]), of_command(out)
        rows += len(line)
        said = [
            problem["message"]
            for problem in answer["result"]["problems"]
            if problem["level"] == "error" and first_line(problem["message"]) not in err
        ]
        if page != line or said:
            differing[name] = (page, line, said)
    assert differing == {}
    assert rows > 1_000


def scanned(*arguments: str) -> tuple[str, str]:
    """Return what `chartkit scan` prints, and what it says on standard error, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), suppress(SystemExit):
        boundary.run(lambda: cli.main(["scan", *arguments], "chartkit", standalone_mode=False))
    return out.getvalue(), err.getvalue()


def written(body: Any) -> str:
    return json.dumps(body, indent=1) + "\n"


def first_line(message: str) -> str:
    """Return what the command line shows of a message: the lines below repeat the expression."""
    return message.partition("\n")[0]


def of_page(result: dict[str, Any]) -> list[Row]:
    keys = ("policy", "rule", "kind", "namespace", "name", "status", "message")
    return sorted(tuple(row[key] for key in keys) for row in result["rows"])


def of_command(text: str) -> list[Row]:
    results = json.loads(text)["results"] if text else []
    return sorted(
        (
            row["policy"],
            row["rule"],
            *row["resource"].rsplit("/", 3)[1:],
            row["result"],
            row["message"],
        )
        for row in results
    )
