"""Keystrokes in a chart of about 2,000 lines: the time until `chartkit lsp` has the diagnostics."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.client import LanguageClient

KEYS: Final = 15
DEPLOYMENTS: Final = 14
_TEMPLATE: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web-NUMBER
  labels:
    app: web-NUMBER
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {app: web-NUMBER}
  template:
    metadata:
      labels: {app: web-NUMBER}
    spec:
      containers:
      - name: web
        image: {{ .Values.image }}
        securityContext:
          {{- toYaml .Values.securityContext | nindent 10 }}
        env:
VARIABLES"""
_VALUES: Final = "replicas: 1\nimage: registry.example/web:1\nsecurityContext: {}\n"


def write_chart(folder: Path) -> tuple[Path, Path]:
    """Write the chart, and return its values and one of its templates."""
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text(_VALUES)
    variables = "".join(f"        - {{name: A{n}, value: x}}\n" for n in range(120))
    for number in range(DEPLOYMENTS):
        text = _TEMPLATE.replace("NUMBER", str(number)).replace("VARIABLES", variables)
        (folder / f"templates/web-{number}.yaml").write_text(text)
    return folder / "values.yaml", folder / "templates/web-0.yaml"


def _processor_seconds(client: LanguageClient) -> float:
    """Return what the server and Helm's process have used; Linux alone tells."""
    server: Any = client._server
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    stats = (Path(f"/proc/{each}/stat").read_text() for each in (server.pid, *children))
    ticks = sum(sum(map(int, each.rpartition(")")[2].split()[11:13])) for each in stats)
    return ticks / os.sysconf("SC_CLK_TCK")


async def _measure(folder: Path) -> None:
    values, template = write_chart(folder / "shop")
    client = LanguageClient("bench", "1")
    arrived: dict[str, tuple[int | None, float]] = {}

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
    def published(params: types.PublishDiagnosticsParams) -> None:
        arrived[params.uri] = (params.version, time.perf_counter())

    await client.start_io(sys.executable, "-m", "chartkit", "lsp")
    root = types.WorkspaceFolder(folder.as_uri(), "work")
    capabilities = types.ClientCapabilities()
    await client.initialize_async(types.InitializeParams(capabilities, workspace_folders=[root]))
    client.initialized(types.InitializedParams())
    for file, old, new in ((template, "web-0", "web-{}x"), (values, "replicas: 1", "replicas: {}")):
        uri, text, times = file.as_uri(), file.read_text(), list[float]()
        client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 0, text))
        )
        used = 0.0
        for key in range(KEYS + 1):
            if key == 1:
                used = _processor_seconds(client)
            start = time.perf_counter()
            if key:
                change = types.TextDocumentContentChangeWholeDocument(
                    text.replace(old, new.format(key))
                )
                document = types.VersionedTextDocumentIdentifier(key, uri)
                client.text_document_did_change(
                    types.DidChangeTextDocumentParams(document, [change])
                )
            while arrived.get(uri, (None, 0.0))[0] != key:
                await asyncio.sleep(0.002)
            times += [arrived[uri][1] - start] if key else []
        used = (_processor_seconds(client) - used) / KEYS
        median, most = statistics.median(times), max(times)
        print(f"{file.name:12} median {median:.3f} s, most {most:.3f} s, processors {used:.3f} s")  # noqa: T201
    await client.shutdown_async(None)
    client.exit(None)


def main() -> None:
    """Measure keystrokes in a template and in the values of a chart."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder).resolve()))


if __name__ == "__main__":
    main()
