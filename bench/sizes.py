"""`python -m bench.sizes [COUNT…]`: time and memory of a scan against the number of Pods.

`--write` draws them, as `docs/images/sizes-*.svg`. By default 1,000 to 1,000,000 Pods, of which no
two are alike but for those of 10,000 that repeat under other names and images; an hour of a slow
machine. Times are processor times, of one run each.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path

from bench.measure import BIN, ROOT, Measured, measure
from bench.pods import distinct_pods
from bench.serve import FIXTURES, say
from chartkit.documents.yaml_dump import dump_documents

_COUNTS = (1_000, 10_000, 100_000, 1_000_000)
_AT_ONCE = 10_000
_NAME = re.compile(r"^(  name: .*)$", re.MULTILINE)
_IMAGE = "registry.example/"
_JOBS = (1, 2)
_TICKS = (0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_000)
_IMAGES = ROOT / "docs" / "images"


def write_many(target: Path, count: int) -> None:
    """Write Pods to a file, 10,000 at a time, which repeat under other names and images."""
    text = dump_documents(distinct_pods(FIXTURES, min(count, _AT_ONCE)))
    with target.open("w", encoding="utf-8") as file:
        for at in range(max(count // _AT_ONCE, 1)):
            if at:
                file.write("---\n")
            file.write(_NAME.sub(rf"\1-{at}", text).replace(_IMAGE, f"{_IMAGE}{at}/"))


def draw(name: str, title: str, lines: Mapping[str, Sequence[tuple[int, float]]]) -> None:
    """Write a picture with a line for each name, both axes logarithmic."""
    import pygal
    from pygal.style import Style

    counts = sorted({count for points in lines.values() for count, _ in points})
    values = [value for points in lines.values() for _, value in points]
    least, most = min(values), max(values)
    chart = pygal.XY(
        title=title,
        x_title="Pods",
        logarithmic=True,
        width=720,
        height=400,
        style=Style(
            background="white",
            plot_background="white",
            colors=("#1f6feb", "#d1242f"),
            font_family="sans-serif",
        ),
        js=(),
        legend_at_bottom=True,
        x_labels=counts,
        y_labels=[each for each in _TICKS if least / 3 < each < most * 3],
        margin_right=50,
        x_value_formatter=lambda value: f"{value:,.0f}",
        value_formatter=lambda value: f"{value:,g}",
    )
    for label, points in lines.items():
        chart.add(label, [(count, round(value, 1)) for count, value in points])
    # The picture must not load anything from elsewhere.
    svg = re.sub(r"<script.*?</script>|<!--.*?-->", "", chart.render().decode(), flags=re.DOTALL)
    svg = re.sub(r"chart-[0-9a-f-]{36}", name, svg)
    (_IMAGES / f"{name}.svg").write_text(svg + "\n", "utf-8")


def main() -> None:
    """Measure, print, and draw on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=_COUNTS, metavar="COUNT")
    parser.add_argument("--write", action="store_true", help="draw docs/images/sizes-*.svg")
    options = parser.parse_args()
    if not FIXTURES.is_dir():
        sys.exit(f"the fixtures are not here ({FIXTURES.name})")
    found: dict[int, list[tuple[int, Measured]]] = {jobs: [] for jobs in _JOBS}
    with tempfile.TemporaryDirectory() as folder:
        for count in options.counts:
            pods = Path(folder, "pods.yaml")
            # In a process of its own: what is started here counts with the memory of this one.
            writer = get_context("spawn").Process(target=write_many, args=(pods, count))
            writer.start()
            writer.join()
            say(f"{count:,} Pods: {pods.stat().st_size / 1e6:.1f} MB of YAML")
            for jobs in _JOBS:
                command: list[str | Path] = [BIN / "chartkit", "scan", pods, "-p", "pss-restricted"]
                name = f"scan {count:,} Pods, --jobs {jobs}"
                done = measure(name, [*command, "--jobs", str(jobs)], runs=1, warm=False)
                before = found[jobs][-1][1].work if found[jobs] else None
                say(f"{done}" + (f"  {done.work / before:.2f} × the size before" if before else ""))
                found[jobs].append((count, done))
    if options.write:
        _draw(found)


def _draw(found: Mapping[int, Sequence[tuple[int, Measured]]]) -> None:
    def lines(value: Callable[[Measured], float]) -> dict[str, list[tuple[int, float]]]:
        return {
            f"--jobs {jobs}": [(count, value(done)) for count, done in points]
            for jobs, points in found.items()
        }

    draw("sizes-time", "Seconds of processor", lines(lambda done: done.work))
    draw("sizes-memory", "MB of memory, the largest process", lines(lambda done: done.megabytes))


if __name__ == "__main__":
    main()
