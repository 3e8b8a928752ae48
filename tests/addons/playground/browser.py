"""The page's worker in a real Chromium, which is asked without the page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chartkit.addons.playground.server import HOST, pages, serving
from tests.browser.test_html_report import CHROMIUM
from tests.loopback import running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_ASK: Final = """async ([script, questions]) => {
  const source = new Blob([`import "${script}";`], {type: "text/javascript"});
  const worker = new Worker(URL.createObjectURL(source), {type: "module"});
  const said = (id) => new Promise((resolve, reject) => {
    worker.onmessage = ({data}) => {
      if (data.failed || (data.id === id && !("at" in data))) resolve(data);
    };
    worker.onerror = (event) => reject(new Error(event.message));
  });
  const answers = [await said()];
  for (const [id, [call, input]] of questions.entries()) {
    const started = performance.now();
    worker.postMessage({id, call, input});
    answers.push({...await said(id), seconds: (performance.now() - started) / 1000});
  }
  worker.terminate();
  return answers;
}"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a built page as the command does, and yield its address."""
    with serving(pages(folder), 0) as server, running(server):
        yield f"http://{HOST}:{server.server_port}/"


@contextmanager
def launched() -> Iterator[Browser]:
    """Yield a Chromium that nobody has used."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Containers run as root, for whom Chromium has no sandbox.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def asked(
    page: Page, folder: Path, address: str, questions: Sequence[tuple[str, dict[str, Any]]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what the worker says once it is ready, and its answers to calls, one by one; page: of
    the folder's address."""
    [worker] = folder.glob("worker-*.js")
    ready, *answers = page.evaluate(
        _ASK, [address + worker.name, json.loads(json.dumps(questions))]
    )
    return ready, answers
