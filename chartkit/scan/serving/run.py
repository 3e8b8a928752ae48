"""The start and the end of an admission server."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from chartkit.errors import InputError
from chartkit.network.admission.certificates import (
    Certificates,
    given_certificates,
    made_certificates,
)
from chartkit.network.admission.keeper import Source
from chartkit.network.admission.logs import Log
from chartkit.network.admission.reports import ReportFolder
from chartkit.network.admission.server import Worker, require_address, serve
from chartkit.network.admission.settings import ServerSettings
from chartkit.scan.serving.options import ListenOptions

_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_ANY: Final = ("0.0.0.0", "::")


def run(listen: ListenOptions, source: Source) -> None:
    """Serve until a signal ends it; raise ChartkitError for what cannot be served."""
    log = Log(listen.log_level)
    require_address(listen.host, listen.port)
    served = source.load()
    source.close()
    with tempfile.TemporaryDirectory(prefix="chartkit-serve-") as folder:
        certificates = _certificates(listen, Path(folder))
        counts = Path(folder) / "metrics"
        counts.mkdir()
        settings = ServerSettings(
            host=listen.host,
            port=listen.port,
            certificate=certificates.certificate,
            key=certificates.key,
            workers=listen.workers,
            max_body=listen.max_body,
            max_in_flight=listen.max_in_flight,
            body_timeout=listen.body_timeout,
            drain=listen.drain,
            log_level=listen.log_level,
            metrics_folder=counts,
        )
        target = None if listen.reports is None else ReportFolder(listen.reports.absolute())

        def started() -> None:
            for note in served.notes:
                log.warning(note)
            log.info(
                "listening",
                address=f"https://{listen.host}:{listen.port}",
                policies=len(served.policies),
                workers=listen.workers,
            )

        serve(Worker(settings, source, target), started, lambda: log.info("ended"))


def _certificates(listen: ListenOptions, folder: Path) -> Certificates:
    """Return the certificates that the options give, or ones made for the server's names."""
    if listen.tls_cert is None and listen.tls_key is None:
        if listen.tls_ca is not None:
            raise InputError("--tls-ca needs --tls-cert and --tls-key")
        return made_certificates(listen.tls_folder or folder, _names(listen))
    if listen.tls_cert is None or listen.tls_key is None:
        raise InputError("--tls-cert and --tls-key go together", hint="give both")
    return given_certificates(listen.tls_cert, listen.tls_key, listen.tls_ca)


def _names(listen: ListenOptions) -> Sequence[str]:
    own = () if listen.host in _ANY else (listen.host,)
    return tuple(dict.fromkeys((*_LOCAL, *own, *listen.names)))
