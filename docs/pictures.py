"""Draws the pictures of the README and of docs/ anew: `python docs/pictures.py`."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from chartkit.addons.playground.server import HOST, pages, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES = Path(__file__).parent / "images"
CHARTKIT = Path(sys.executable).parent / "chartkit"
_WORDS = {"pass": "bold green", "fail": "bold red", "warning": "bold yellow", "note": "cyan"}
_WORD = re.compile(r"(?<![a-z])[✓·!✗]? ?\b(pass|fail|warning|note)(?= |$)")


def draw(name: str, command: Sequence[str], shown: str, width: int) -> None:
    """Writes images/NAME.svg: a command line and what it prints, lines cut at width."""
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(Text(f"$ {shown}", style="bold"))
    for line in "\n".join(command).splitlines():
        text = Text(line[: width - 1], no_wrap=True)
        for match in _WORD.finditer(text.plain):
            text.stylize(_WORDS[match[1]], *match.span())
        console.print(text)
    svg = console.export_svg(title="chartkit", unique_id=name)
    # The picture must not load anything from elsewhere.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    (IMAGES / f"{name}.svg").write_text(svg.replace("<svg ", '<svg xml:space="preserve" ', 1))


def printed(folder: Path, *arguments: str) -> str:
    """What chartkit prints in a folder."""
    done = subprocess.run(
        [str(CHARTKIT), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr).rstrip()


WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: SPACE, labels: {team: TEAM}}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      hostNetwork: HOST
      containers: [{name: main, image: "registry.example/NAME:latest"}]
---
"""
PLACES = {"ops": ("agent", "proxy", "backup"), "payments": ("api",), "shop": ("cart", "web")}


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def page(folder: Path) -> None:
    """Writes images/report-light.jpg and report-dark.jpg: the HTML report of a scan in Chromium."""
    text = "".join(
        WORKLOAD.replace("NAME", name)
        .replace("SPACE", space)
        .replace("TEAM", "blue" if space == "shop" else "green")
        .replace("HOST", str(space == "ops").lower())
        for space, names in PLACES.items()
        for name in names
    )
    (folder / "workloads.yaml").write_text(text)
    profile = ("-p", "eks-best-practices")
    printed(folder, "scan", "workloads.yaml", *profile, "-o", "html=report.html")
    with browser() as chromium:
        shown = chromium.new_page(viewport={"width": 960, "height": 860})
        shown.goto((folder / "report.html").as_uri())
        for name in ("light", "dark"):
            shown.emulate_media(color_scheme="dark" if name == "dark" else "light")
            shown.screenshot(path=IMAGES / f"report-{name}.jpg", type="jpeg", quality=60)


def playground(folder: Path) -> None:
    """Writes images/playground.jpg and playground-migrate.jpg: two tabs of the page."""
    build = Path(__file__).parent.parent / "tools" / "playground.py"
    subprocess.run([sys.executable, str(build), str(folder / "playground")], check=True)
    with serving(pages(folder / "playground"), 0) as server, browser() as chromium:
        Thread(target=server.serve_forever, daemon=True).start()
        shown = chromium.new_page(viewport={"width": 1120, "height": 760}, color_scheme="light")
        shown.goto(f"http://{HOST}:{server.server_port}/")
        shown.locator(".why summary").first.click(timeout=120_000)
        shown.screenshot(path=IMAGES / "playground.jpg", type="jpeg", quality=70)
        shown.locator("#tab-migrate").click()
        shown.locator("#migrate-summary.good").wait_for(timeout=120_000)
        shown.screenshot(path=IMAGES / "playground-migrate.jpg", type="jpeg", quality=70)
        server.shutdown()


def main() -> None:
    """Draws every picture from a project that `chartkit init` makes."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        printed(folder, "init")
        lines = printed(folder, "render").splitlines()
        draw("summary", lines, "chartkit render", 100)
        project = folder / "chartkit.yaml"
        text = project.read_text("utf-8")
        project.write_text(text.replace('kubernetes: "1.35"', 'kubernetes: "1.29"', 1))
        values = folder / "charts" / "kyverno" / "values_dev.yaml"
        values.write_text(
            values.read_text("utf-8") + "reportController:\n  serviceMonitor:\n    enabled: true\n"
        )
        draw("failing", printed(folder, "render", "dev").splitlines(), "chartkit render dev", 150)
        page(folder)
        playground(folder)


if __name__ == "__main__":
    main()
