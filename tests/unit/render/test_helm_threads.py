"""Threads that wait for Helm do not keep a command that is given up."""

import contextlib
import time
from pathlib import Path

import pytest

from chartkit.errors import RenderError
from chartkit.helm import backend as helm
from chartkit.helm.model import Target
from chartkit.render.chart import helm_threads

_FOREVER = "a: {{ range until 1000000 }}{{ range until 1000000 }}{{ end }}{{ end }}\n"


def test_an_interrupt_ends_what_helm_does(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (tmp_path / "templates" / "a.yaml").write_text(_FOREVER)

    with contextlib.suppress(KeyboardInterrupt), helm_threads() as executor:
        running = executor.submit(helm.helm().render, tmp_path, {}, Target("r", "n"))
        while not running.running():
            time.sleep(0.01)
        time.sleep(0.1)
        raise KeyboardInterrupt
    with pytest.raises(RenderError):
        running.result()

    # The next command starts Helm anew.
    (tmp_path / "templates" / "a.yaml").write_text("")
    assert helm.helm().render(tmp_path, {}, Target("r", "n")) is not None
