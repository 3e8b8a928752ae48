"""The start and the end of an admission server."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from chartkit.addons.serve.admission.certificates import (
    Certificates,
    given_certificates,
    made_certificates,
)
from chartkit.addons.serve.admission.limits import ServerSettings
from chartkit.addons.serve.admission.reloading import Source
from chartkit.addons.serve.admission.reports import ClusterReports, ReportFolder, Target
from chartkit.addons.serve.admission.served_policies import Served
from chartkit.addons.serve.admission.server import Worker, require_address, serve
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.addons.serve.admission.webhooks.cluster_policies import Scope, other_namespaces
from chartkit.addons.serve.admission.webhooks.registration import (
    Endpoint,
    Registration,
    webhook_configurations,
)
from chartkit.documents.yaml_dump import dump_documents
from chartkit.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """The options about the socket, its certificate, the bounds on what is in flight, and the
    webhooks in a cluster.

    policies_from: `cluster` or a recording; reports: a folder, or `cluster`; excluded: namespaces
    that webhooks leave out; context: of the kubeconfig, None for the current one.
    """

    policies_from: str | None
    host: str
    port: int
    workers: int
    tls_cert: Path | None
    tls_key: Path | None
    tls_ca: Path | None
    tls_folder: Path | None
    names: tuple[str, ...]
    max_body: int
    max_in_flight: int
    body_timeout: float
    drain: float
    log_level: str
    reports: str | None
    traces: bool
    print_webhooks: bool
    apply_webhooks: bool
    webhook_url: str | None
    webhook_service: str | None
    excluded: tuple[str, ...]
    context: str | None


_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_ANY: Final = ("0.0.0.0", "::")
IN_CLUSTER: Final = "cluster"
"""The value of `--reports` for the cluster."""


def run(listen: ListenOptions, make: Callable[[], Source], write: Callable[[str], object]) -> None:
    """Serve until a signal ends it, or write the webhook configurations; raise ChartkitError for
    what cannot be served. make: gives the source of the policies, one for each that looks at it."""
    if listen.print_webhooks:
        write(_printed(listen, _loaded(make())))
        return
    log = Log(listen.log_level)
    require_address(listen.host, listen.port)
    served = _loaded(make())
    with tempfile.TemporaryDirectory(prefix="chartkit-serve-") as folder:
        certificates = _certificates(listen, Path(folder))
        settings = _settings(listen, certificates, Path(folder))
        registration = _registration(listen, certificates, settings, log)
        worker = Worker(settings, make(), _target(listen))

        def started() -> None:
            for note in served.notes:
                log.warning(note)
            log.info(
                "starting",
                address=f"https://{listen.host}:{listen.port}",
                policies=len(served.policies),
                workers=listen.workers,
            )
            if registration is not None:
                registration.begin(make())

        def ending(longest: float) -> None:
            if registration is not None:
                registration.end(longest)

        try:
            serve(worker, started, ending)
        finally:
            if registration is not None:
                registration.end()
    log.info("ended")
    if registration is not None and registration.failure is not None:
        raise registration.failure


def _loaded(source: Source) -> Served:
    """Return the policies of a source that is needed once."""
    try:
        return source.load()
    finally:
        source.close()


def _settings(listen: ListenOptions, certificates: Certificates, folder: Path) -> ServerSettings:
    counts = folder / "metrics"
    counts.mkdir()
    return ServerSettings(
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
        traces=listen.traces,
    )


def _target(listen: ListenOptions) -> Target | None:
    if listen.reports is None:
        return None
    if listen.reports == IN_CLUSTER:
        return ClusterReports(listen.context)
    return ReportFolder(Path(listen.reports).absolute())


def _registration(
    listen: ListenOptions, certificates: Certificates, settings: ServerSettings, log: Log
) -> Registration | None:
    if not listen.apply_webhooks:
        return None
    from chartkit.network.cluster.client import connect

    cluster = connect(listen.context)
    endpoint = _endpoint(listen, certificates)
    return Registration(cluster, endpoint, _scope(listen, endpoint), settings, log)


def _printed(listen: ListenOptions, served: Served) -> str:
    """Return the webhook configurations as YAML; raise InputError where their certificate would
    differ from the server's."""
    if listen.tls_cert is None and listen.tls_folder is None:
        hint = "--tls-folder keeps the one that is made; --tls-cert and --tls-key give one"
        raise InputError("--print-webhooks needs the certificate of the server", hint=hint)
    endpoint = _endpoint(listen, _certificates(listen, Path()))
    scope = replace(_scope(listen, endpoint), names=served.names)
    return dump_documents(webhook_configurations(served.policies, endpoint, scope))


def _scope(listen: ListenOptions, endpoint: Endpoint) -> Scope:
    own = (endpoint.namespace,) if endpoint.namespace else ()
    return Scope(other_namespaces(tuple(dict.fromkeys((*filter(None, listen.excluded), *own)))))


def _endpoint(listen: ListenOptions, certificates: Certificates) -> Endpoint:
    """Return where API servers find the server; raise InputError where the options do not say."""
    if listen.webhook_service is not None:
        if listen.webhook_url is not None:
            raise InputError("--webhook-url and --webhook-service do not go together")
        namespace, name, port = _service(listen.webhook_service)
        return Endpoint(certificates.authority, "", namespace, name, port)
    url = listen.webhook_url
    if url is None:
        if listen.host in _ANY:
            message = f"an API server cannot call {listen.host}"
            raise InputError(message, hint="say where it finds this server: --webhook-url")
        host = f"[{listen.host}]" if ":" in listen.host else listen.host
        url = f"https://{host}:{listen.port}"
    if not url.startswith("https://") or len(url) < 9:
        raise InputError(f"--webhook-url '{url}' is not a URL of https")
    return Endpoint(certificates.authority, url.rstrip("/"))


def _service(text: str) -> tuple[str, str, int]:
    namespace, slash, rest = text.partition("/")
    name, colon, port = rest.partition(":")
    is_number = port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if not (namespace and slash and name) or (colon and not is_number):
        raise InputError(f"--webhook-service '{text}' is not NAMESPACE/NAME[:PORT]")
    return namespace, name, int(port) if colon else 443


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
    """Return the names that a certificate is made for."""
    own = [] if listen.host in _ANY else [listen.host]
    if listen.webhook_url:
        from urllib.parse import urlsplit

        own += filter(None, [urlsplit(listen.webhook_url).hostname])
    if listen.webhook_service:
        namespace, name, _ = _service(listen.webhook_service)
        own.append(f"{name}.{namespace}.svc")
    return tuple(dict.fromkeys((*_LOCAL, *own, *listen.names)))
