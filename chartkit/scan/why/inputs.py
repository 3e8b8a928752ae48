"""The policies and objects of `chartkit why`: of files, an environment or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from chartkit.engine import World
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


@dataclass(frozen=True, slots=True)
class WhyInputs:
    """asker: the policies; objects: about which they are asked; is_broken: whether a policy does
    not compile, or something could not be read."""

    asker: Asker
    objects: Sequence[Resource]
    is_broken: bool


@contextmanager
def open_why(
    source: ClusterSource | None,
    environment: ProjectEnvironment | None,
    options: RequestOptions,
    stdin: TextIO,
    note: Note,
    warn: Callable[[str], None],
) -> Iterator[WhyInputs]:
    """Read policies and objects; raise InputError and SourceError.

    source: the cluster, or a recording of one, whose policies are asked, also about an object
    `KIND/NAME` there; else the environment's are asked, or those that the options name. warn: is
    called with a line for all that could not be read of the cluster.
    """
    if source is None:
        requests = load_requests(options, stdin, note, environment)
        yield _inputs(requests, requests.world(), environment)
        return
    from chartkit.scan.installed import open_installed

    with open_installed(source, options, note) as installed:
        for diagnostic in installed.diagnostics:
            note(diagnostic)
        environment = installed.environment
        judges = load_judges(options, note, environment)
        (path,) = options.inputs.paths
        if path == STDIN or is_remote(path) or Path(path).exists():
            requests = read_requests(judges, options, stdin, note, environment=environment)
        else:
            namespace = options.inputs.named_namespace or DEFAULT_NAMESPACE
            there = _object_there(installed.survey.reader, path, namespace)
            requests = Requests(judges.policies, (there,), {}, judges.inputs)
        requests = installed.completed(requests)
        inputs = _inputs(requests, installed.world(requests), environment)
        yield replace(inputs, is_broken=inputs.is_broken or bool(installed.diagnostics))
        for line in installed.unread():
            warn(line)


def _inputs(requests: Requests, world: World, environment: ProjectEnvironment | None) -> WhyInputs:
    policies, context = requests.policies, requests.context(world)
    asker = Asker(policies.policies, policies.cleanup, context, environment)
    return WhyInputs(asker, requests.objects, bool(policies.diagnostics))


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
