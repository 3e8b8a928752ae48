"""The policies and objects of `chartkit why`: of files, an environment or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from chartkit.engine.kubernetes.kinds import DEFAULT_NAMESPACE
from chartkit.errors import InputError
from chartkit.model import Location, Resource
from chartkit.scan.inputs import STDIN, Note, is_remote
from chartkit.scan.requests import (
    RequestOptions,
    Requests,
    load_judges,
    load_requests,
    read_requests,
)
from chartkit.scan.why.asking import Asker

if TYPE_CHECKING:
    from chartkit.network.cluster.reader import Reader
    from chartkit.scan.cluster_source import ClusterSource
    from chartkit.scan.environment import ProjectEnvironment
    from chartkit.scan.installed import InstalledPolicies


@dataclass(frozen=True, slots=True)
class WhyInputs:
    """asker: the policies; objects: about which they are asked; is_broken: whether a policy does
    not compile, or something could not be read."""

    asker: Asker
    objects: Sequence[Resource]
    is_broken: bool


def load_why(
    options: RequestOptions,
    stdin: TextIO,
    note: Note,
    environment: ProjectEnvironment | None,
) -> WhyInputs:
    """Load the policies that options name, or those of an environment, and objects; raise
    InputError."""
    requests = load_requests(options, stdin, note, environment)
    asker = Asker(
        requests.policies.policies,
        requests.policies.cleanup,
        requests.context(requests.world()),
        environment,
    )
    return WhyInputs(asker, requests.objects, bool(requests.policies.diagnostics))


@contextmanager
def open_why(
    source: ClusterSource,
    options: RequestOptions,
    stdin: TextIO,
    note: Note,
    warn: Callable[[str], None],
) -> Iterator[WhyInputs]:
    """Read the policies of a cluster or a recording of one, and the object: of a file, or
    `KIND/NAME` there. Raise InputError and SourceError."""
    from chartkit.scan.installed import open_installed

    with open_installed(source, options, note) as installed:
        for diagnostic in installed.diagnostics:
            note(diagnostic)
        judges = load_judges(options, note, installed.environment)
        (path,) = options.inputs.paths
        if path == STDIN or is_remote(path) or Path(path).exists():
            requests = read_requests(
                judges, options, stdin, note, environment=installed.environment
            )
        else:
            namespace = options.inputs.named_namespace or DEFAULT_NAMESPACE
            there = _object_there(installed.survey.reader, path, namespace)
            requests = Requests(judges.policies, (there,), {}, {}, judges.inputs)
        yield _of_cluster(installed, installed.completed(requests))
        for line in installed.unread():
            warn(line)


def _of_cluster(installed: InstalledPolicies, requests: Requests) -> WhyInputs:
    policies = requests.policies
    context = requests.context(installed.world(requests))
    asker = Asker(policies.policies, policies.cleanup, context, installed.environment)
    is_broken = bool(policies.diagnostics or installed.diagnostics)
    return WhyInputs(asker, requests.objects, is_broken)


def _object_there(reader: Reader, text: str, namespace: str) -> Resource:
    """Return the object `KIND/NAME` or `KIND/NAMESPACE/NAME` of a cluster; raise InputError where
    it is not there."""
    from chartkit.network.cluster.source import RefusedError

    kind, *names = text.split("/")
    if len(names) not in (1, 2) or not all(names):
        hint = "OBJECT is a file, a folder, a chart, -, or KIND/NAME in the cluster"
        raise InputError(f"there is no file '{text}'", None, hint)
    *above, name = names
    for served in reader.discovery.all:
        if kind.lower() not in (served.kind.kind.lower(), served.plural, served.name):
            continue
        path = served.path(above[0] if above else namespace, name)
        try:
            body = reader.source.get(path)
        except RefusedError as error:
            raise InputError(f"{text} cannot be read in the cluster: {error}") from None
        typed = {"apiVersion": served.api_version, "kind": served.kind.kind}
        return Resource({**body, **typed}, Location(path))
    raise InputError(f"the cluster serves no kind '{kind}'", None, "write KIND/NAME, as Pod/web")
