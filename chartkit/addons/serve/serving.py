"""An admission server from its start to its end, with its policies and objects, from files or a
cluster, which are read again when they change."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chartkit.addons.serve.admission.certificates import (
    Certificates,
    given_certificates,
    made_certificates,
)
from chartkit.addons.serve.admission.judge import Source
from chartkit.addons.serve.admission.limits import ServerOptions, ServerSettings
from chartkit.addons.serve.admission.registration import (
    Endpoint,
    Registration,
    webhook_configurations,
)
from chartkit.addons.serve.admission.reports import ClusterReports, ReportFolder, Target
from chartkit.addons.serve.admission.review import RoleBindings, is_role_binding
from chartkit.addons.serve.admission.selection import Served, admits
from chartkit.addons.serve.admission.server import Worker, require_address, serve
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.addons.serve.admission.webhooks import Scope, other_namespaces
from chartkit.documents.input_files import file_state
from chartkit.documents.unread import strict
from chartkit.documents.yaml_dump import dump_documents
from chartkit.engine import Phase, World, is_exception, is_policy
from chartkit.engine.context.global_context import is_global_context_entry
from chartkit.engine.kubernetes.kinds import in_namespace, is_binding
from chartkit.errors import CompileError, InputError
from chartkit.model import Diagnostic, Resource
from chartkit.network.cluster.reader import (
    NAMESPACES,
    ApiResource,
    Discovery,
    Reader,
    policies_there,
    sample,
)
from chartkit.scan.cluster import Survey, answers
from chartkit.scan.cluster_source import ClusterSource
from chartkit.scan.environment import ProjectEnvironment
from chartkit.scan.inputs import is_remote
from chartkit.scan.installed import InstalledPolicies, installed_environment
from chartkit.scan.policies import PolicySet
from chartkit.scan.requests import RequestOptions, Requests, load_requests, load_surroundings

if TYPE_CHECKING:
    from chartkit.network.cluster.live import Watches

_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_ANY: Final = ("0.0.0.0", "::")
IN_CLUSTER: Final = "cluster"
"""The value of `--reports` for the cluster."""
Signature = Mapping[str, tuple[int, ...]]
"""The time, size and identity of each file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """The options about the socket, its certificate, the bounds on what is in flight, and the
    webhooks in a cluster.

    policies_from: `cluster` or a recording; reports: a folder, or `cluster`; excluded: namespaces
    that webhooks leave out; context: of the kubeconfig, None for the current one.
    """

    policies_from: str | None
    server: ServerOptions
    tls_cert: Path | None
    tls_key: Path | None
    tls_ca: Path | None
    tls_folder: Path | None
    names: tuple[str, ...]
    reports: str | None
    print_webhooks: bool
    apply_webhooks: bool
    webhook_url: str | None
    webhook_service: str | None
    excluded: tuple[str, ...]
    context: str | None


def run(listen: ListenOptions, make: Callable[[], Source], write: Callable[[str], object]) -> None:
    """Serve until a signal ends it, or write the webhook configurations; raise ChartkitError for
    what cannot be served. make: gives the source of the policies, one for each that looks at it."""
    if listen.print_webhooks:
        write(_printed(listen, _loaded(make())))
        return
    server = listen.server
    log = Log(server.log_level)
    require_address(server.host, server.port)
    served = _loaded(make())
    with tempfile.TemporaryDirectory(prefix="chartkit-serve-") as folder:
        certificates = _certificates(listen, Path(folder))
        counts = Path(folder) / "metrics"
        counts.mkdir()
        settings = ServerSettings(
            **asdict(server),
            certificate=certificates.certificate,
            key=certificates.key,
            metrics_folder=counts,
        )
        if not listen.apply_webhooks:
            registration = None
        else:
            from chartkit.network.cluster.client import connect

            cluster = connect(listen.context)
            endpoint = _endpoint(listen, certificates)
            registration = Registration(cluster, endpoint, _scope(listen, endpoint), settings, log)
        target: Target | None = None
        if listen.reports == IN_CLUSTER:
            target = ClusterReports(listen.context)
        elif listen.reports is not None:
            target = ReportFolder(Path(listen.reports).absolute())
        worker = Worker(settings, make(), target)

        def started() -> None:
            for note in served.notes:
                log.warning(note)
            log.info(
                "starting",
                address=f"https://{server.host}:{server.port}",
                policies=len(served.policies),
                workers=server.workers,
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


def _printed(listen: ListenOptions, served: Served) -> str:
    """The webhook configurations as YAML; InputError for another certificate."""
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
    """The server's endpoint for API servers; InputError where the options do not say."""
    if listen.webhook_service is not None:
        if listen.webhook_url is not None:
            raise InputError("--webhook-url and --webhook-service do not go together")
        namespace, name, port = _service(listen.webhook_service)
        return Endpoint(certificates.authority, "", namespace, name, port)
    url = listen.webhook_url
    if url is None:
        if listen.server.host in _ANY:
            message = f"an API server cannot call {listen.server.host}"
            raise InputError(message, hint="say where it finds this server: --webhook-url")
        host = f"[{listen.server.host}]" if ":" in listen.server.host else listen.server.host
        url = f"https://{host}:{listen.server.port}"
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
        own = [] if listen.server.host in _ANY else [listen.server.host]
        if listen.webhook_url:
            from urllib.parse import urlsplit

            own += filter(None, [urlsplit(listen.webhook_url).hostname])
        if listen.webhook_service:
            namespace, name, _ = _service(listen.webhook_service)
            own.append(f"{name}.{namespace}.svc")
        return made_certificates(
            listen.tls_folder or folder, tuple(dict.fromkeys((*_LOCAL, *own, *listen.names)))
        )
    if listen.tls_cert is None or listen.tls_key is None:
        raise InputError("--tls-cert and --tls-key go together", hint="give both")
    return given_certificates(listen.tls_cert, listen.tls_key, listen.tls_ca)


def served(
    requests: Requests,
    world: Callable[[], World],
    environment: ProjectEnvironment | None = None,
    notes: Sequence[Diagnostic] = (),
    bindings: Iterable[Resource] = (),
) -> Served:
    """Return the policies and surroundings that a server judges with. world: gives what policies
    see; environment: whose configuration keeps objects away from policies; bindings: of roles,
    besides those among the objects."""
    policies = requests.policies
    admissions = requests.context(world()).admissions(policies.policies)
    labels = requests.namespaces

    def is_filtered(resource: Resource, subresource: str) -> bool:
        if environment is None:
            return False
        given, config = in_namespace(resource, custom=requests.names), environment.configuration
        return any(config.unsent(given, labels.get(given.namespace), subresource))

    return Served(
        policies.policies,
        admissions.request,
        world,
        RoleBindings([*requests.objects, *bindings]),
        None if environment is None else is_filtered,
        requests.facts(),
        requests.names,
        (*map(str, notes), *_not_carried_out(policies)),
    )


def _not_carried_out(policies: PolicySet) -> Iterable[str]:
    """Yield a line for everything that policies do and a server does not."""
    for policy in policies.policies:
        if policy.runs_in_api_server:
            yield f"{policy.policy.id}: the API server evaluates it, and not this server"
        elif not admits(policy):
            yield f"{policy.policy.id}: not asked at admission"
        elif Phase.GENERATE in policy.phases:
            yield f"{policy.policy.id}: nothing is generated, and nothing that exists is mutated"
    for cleaner in policies.cleanup:
        yield f"{cleaner.resource.name}: nothing is deleted on a schedule"


@dataclass
class FileSource:
    """Policies and objects of files; environment: returns the project's environment; None for the
    policies that the options name."""

    options: RequestOptions
    environment: Callable[[], ProjectEnvironment] | None = None
    _roots: tuple[Path, ...] = ()
    _seen: Signature = field(default_factory=dict)

    def load(self) -> Served:
        """Return the policies of the files; raise ChartkitError, also for a single policy that
        does not compile."""
        options = self.options
        environment = None if self.environment is None else self.environment()
        inputs, policies, user = options.inputs, options.policies, options.world
        given = (*policies.exceptions, *user.values)
        named = (*inputs.paths, *policies.named_policies, *inputs.crds, *given)
        own = environment.sources if environment is not None else ()
        self._roots = (
            *(Path(name) for name in named if not is_remote(name)),
            *filter(None, (user.userinfo, user.context_file)),
            *own,
        )
        self._seen = dict(_signature(self._roots))
        notes: list[Diagnostic] = []
        requests = load_requests(
            options,
            io.StringIO(),
            strict(notes.append),
            environment=environment,
            needs_objects=False,
        )
        if requests.policies.diagnostics:
            raise CompileError(requests.policies.diagnostics)
        if not requests.policies.policies:
            raise InputError("there is no policy to judge with", hint="-p names some")
        world = requests.world()
        return served(requests, lambda: world, environment, notes)

    def changed(self) -> bool:
        """Report whether a file is new, gone or another than when they were last looked at."""
        signature = dict(_signature(self._roots))
        if signature == self._seen:
            return False
        self._seen = signature
        return True

    def close(self) -> None:
        """Do nothing: files are looked at when the server asks."""


def _signature(roots: tuple[Path, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for root in roots:
        if root.is_dir():
            for folder, _, names in os.walk(root, followlinks=True):
                for name in names:
                    file = os.path.join(folder, name)
                    yield file, file_state(file)
        else:
            yield str(root), file_state(root)


@dataclass
class ClusterPolicies:
    """The policies of a cluster or a recording; options: for objects and settings besides."""

    options: RequestOptions
    source: ClusterSource
    _watches: Watches | None = None

    def load(self) -> Served:
        """Return the policies of the cluster; those that do not compile are left out and named.
        Raise ChartkitError where it does not answer."""
        source, namespace = answers(self.source)
        reader = Reader(source, namespace)
        if self._watches is None and self.source.recording is None:
            from chartkit.network.cluster.client import connect
            from chartkit.network.cluster.live import Watches

            paths = [resource.path() for resource in _watched(reader.discovery)]
            self._watches = Watches(connect(self.source.context), paths)
        notes: list[Diagnostic] = []
        survey = Survey(reader, load_surroundings(self.options, notes.append))
        environment = installed_environment("the cluster", survey, policies_there(reader))
        installed = InstalledPolicies(environment, survey, survey.diagnostics)
        notes += survey.diagnostics
        requests = load_requests(
            self.options,
            io.StringIO(),
            strict(notes.append),
            environment=environment,
            needs_objects=False,
        )
        requests = installed.completed(requests)
        bindings: list[Resource] = []
        for resource in reader.discovery.all:
            if is_role_binding(Resource(sample(resource))):
                bindings.extend(reader.everywhere(resource))
        if requests.objects:
            installed.world(requests)

        def world() -> World:
            if reader.source.fault is not None:
                reader.source, _ = answers(self.source)
                if requests.objects:
                    return installed.world(requests)
            return survey.world(requests.inputs)

        unread = [f"not read: {what}: {reason}" for what, reason in reader.unread.items()]
        result = served(requests, world, environment, notes, bindings)
        return replace(result, notes=(*result.notes, *unread))

    def changed(self) -> bool:
        """Report whether policies, exceptions, namespaces or bindings changed in the cluster."""
        return self._watches is not None and self._watches.changed()

    def close(self) -> None:
        """End the watches."""
        if self._watches is not None:
            self._watches.close()
            self._watches = None


def _watched(discovery: Discovery) -> Iterator[ApiResource]:
    """Yield the resources whose objects decide verdicts, each in one version."""
    chosen: set[tuple[str, str]] = set()
    for served_kind in discovery.all:
        group, _, kind = served_kind.kind
        resource = Resource(sample(served_kind))
        decides = (
            is_policy(resource)
            or is_binding(resource)
            or is_exception(resource)
            or is_global_context_entry(resource)
            or is_role_binding(resource)
            or served_kind.kind == NAMESPACES.kind
        )
        if decides and (group, kind) not in chosen:
            chosen.add((group, kind))
            yield served_kind
