"""A live cluster, through Kubernetes' own Python client: the only reader of a kubeconfig.

What it raises never quotes the kubeconfig or what a credential plugin printed: both hold secrets.
Kubeconfigs are looked through first: that client reads what is nested too deeply until Python's
stack is full, reads devices to no end, and sends a token that is not a string as Python prints it.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import yaml

from chartkit.documents.json_text import parse_json
from chartkit.documents.reader import Document, read_file
from chartkit.errors import InputError, extra
from chartkit.model import Body, Json, Location, mapping_at, mappings_at, text_of
from chartkit.network.cluster.source import (
    ClusterError,
    NoAnswerError,
    mapping_in,
    object_in,
    objects_in,
    with_query,
)

_TIMEOUT: Final = (10, 60)
"""Seconds to connect, and to wait for an answer."""
_PAGE: Final = 250
_REFUSED: Final = 300
_CONFLICT_OR_GONE: Final = (404, 409, 410)
_IN_CLUSTER: Final = "in-cluster"
_MEDIA: Final = {"PATCH": "application/merge-patch+json", "APPLY": "application/apply-patch+yaml"}
MANAGER: Final = "helm"
_HINT: Final = "`kubectl config view` shows what it should look like"
_TEXTS: Final = {
    "clusters": ("cluster", ("server", "certificate-authority", "certificate-authority-data")),
    "users": ("user", ("token", "tokenFile", "username", "password", "client-key-data")),
    "contexts": ("context", ("cluster", "user", "namespace")),
}
_LATIN_1: Final = 0xFF
_MAPPINGS: Final = {"users": ("exec", "auth-provider")}


@dataclass(frozen=True, slots=True)
class Collection:
    """Objects of one resource: group (not the core's), version and plural."""

    group: str
    version: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of its objects, or of one. namespace: empty for all namespaces."""
        version = f"{self.group}/{self.version}" if self.group else self.version
        return object_path(version, self.plural, namespace, name)


def object_path(api_version: str, plural: str, namespace: str = "", name: str = "") -> str:
    """Return the path of an object of an API server, or of all of a resource for no name; whatever
    its names are, they lead nowhere else."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    scope = f"/namespaces/{_segment(namespace)}" if namespace else ""
    return f"{root}{scope}/{plural}" + (f"/{_segment(name)}" if name else "")


def _segment(name: str) -> str:
    # Clients take a segment of dots for a folder's.
    return quote(name, safe=":@", errors="replace") if name.strip(".") else "%2E" * len(name)


CRDS: Final = Collection("apiextensions.k8s.io", "v1", "customresourcedefinitions")
DEPLOYMENTS: Final = Collection("apps", "v1", "deployments")
PODS: Final = Collection("", "v1", "pods")
SECRETS: Final = Collection("", "v1", "secrets")
CONFIG_MAPS: Final = Collection("", "v1", "configmaps")
VALIDATING: Final = Collection(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"
)
CLUSTER_ROLES: Final = Collection("rbac.authorization.k8s.io", "v1", "clusterroles")
MUTATING: Final = Collection("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations")


@dataclass(frozen=True)
class Cluster:
    """A cluster to ask.

    context: the kubeconfig's context, empty inside a Pod; kubeconfig: the file that Helm is to
    read too, None where it finds it as the client does (several files, or inside a Pod).
    """

    context: str
    kubeconfig: Path | None
    server: str
    _api: Any

    @property
    def shown(self) -> str:
        """The name of the cluster in reports: the context and the API server's host."""
        host = urlsplit(self.server).netloc.rpartition("@")[2]
        return f"{self.context or _IN_CLUSTER} ({host})"

    @property
    def credentials(self) -> dict[str, str]:
        """The headers by which the API server knows the user; plugins may renew them."""
        settings = self._api.configuration.auth_settings().values()
        return {setting["key"]: setting["value"] for setting in settings if setting["value"]}

    def version(self) -> str:
        """Return the API server's version as it calls it: `v1.34.1-eks-113cf36`."""
        version = self._request("GET", "/version/", "its version").get("gitVersion")
        if not isinstance(version, str):
            raise ClusterError(f"{self.shown} reports no version")
        return version

    def group_versions(self) -> list[str]:
        """Return every `group/version` that it serves, and `v1`."""
        groups = mappings_at(self._request("GET", "/apis/", "its APIs"), "groups")
        versions = [version for group in groups for version in mappings_at(group, "versions")]
        return ["v1", *filter(None, (text_of(version.get("groupVersion")) for version in versions))]

    def read(self, collection: Collection, name: str, namespace: str = "") -> Body | None:
        """Return one object, None where it is not there."""
        what = f"to read {collection} '{name}'"
        body = self._found("GET", collection.path(namespace, name), what)
        with self._explained(what):
            return None if body is None else object_in(body)

    def objects(self, collection: Collection, namespace: str = "", labels: str = "") -> list[Body]:
        """Return every object, read page by page; none where the resource is not served."""
        path, what = collection.path(namespace), f"to list {collection}"
        query = {"limit": str(_PAGE), **({"labelSelector": labels} if labels else {})}
        bodies: list[Body] = []
        page = self._found("GET", with_query(path, query), what)
        while page is not None:
            with self._explained(what):
                bodies += objects_in(page)
            following = mapping_at(page, "metadata").get("continue")
            if not following:
                break
            query["continue"] = str(following)
            # A page that is no longer there (410) is no end of the list.
            page = self._request("GET", with_query(path, query), what)
        return bodies

    def delete(self, collection: Collection, name: str, namespace: str = "") -> None:
        """Delete an object; it may be gone already."""
        self._found("DELETE", collection.path(namespace, name), f"to delete {collection} '{name}'")

    def tries(self, collection: Collection, body: Body) -> int:
        """Return the HTTP status of a dry run that creates an object."""
        what = "to try a policy"
        status = int(self._send("POST", f"{collection.path()}?dryRun=All", what, body).status)
        if status == 401:
            raise self._refusal(status, what)
        return status

    def get(self, path: str) -> Body | None:
        """Return the response of a path of the API server, None where there is nothing."""
        return self._found("GET", path, f"to read {path}")

    def merge(self, path: str, patch: Body) -> None:
        """Merge fields into the object at a path, lists as a whole, as Helm would write them."""
        self._request("PATCH", f"{path}?fieldManager={MANAGER}", f"to change {path}", patch)

    def refusal_of(self, path: str, body: Body) -> str:
        """Return the API server's message when it refuses the dry run of a creation, empty when it
        accepts; raise ClusterError where it does not answer, or does not know or allow the user."""
        answer = self._send("POST", f"{path}?dryRun=All", f"to try {path}", body)
        if answer.status < _REFUSED:
            return ""
        try:
            message = parse_json(answer.data)["message"]
        except (ValueError, KeyError, TypeError):
            message = None
        is_unknown = answer.status == 401 or "cannot create resource" in str(message)
        if is_unknown or not isinstance(message, str):
            raise self._refusal(answer.status, f"to try {path}")
        return message

    def apply(self, path: str, body: Body, manager: str) -> None:
        """Apply an object at its path server-side, as its only manager's."""
        query = f"fieldManager={manager}&force=true"
        self._request("APPLY", f"{path}?{query}", f"to write {path}", body)

    def remove(self, path: str) -> None:
        """Delete the object at a path; it may be gone already."""
        self._found("DELETE", path, f"to delete {path}")

    def _found(self, method: str, path: str, what: str) -> Body | None:
        """Return an answer, None where there is nothing."""
        answer = self._send(method, path, what)
        return None if answer.status in _CONFLICT_OR_GONE else self._body(answer, what)

    def _request(self, method: str, path: str, what: str, body: Body | None = None) -> Body:
        """Return an answer; raise ClusterError where there is nothing, too."""
        return self._body(self._send(method, path, what, body), what)

    def _body(self, answer: Any, what: str) -> Body:
        if answer.status >= _REFUSED:
            raise self._refusal(answer.status, what)
        with self._explained(what):
            return mapping_in(parse_json(answer.data))

    def _send(self, method: str, path: str, what: str, body: Body | None = None) -> Any:
        with self._explained(what):
            return self.send(method, path, body)

    def send(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        *,
        timeout: tuple[float, float] = _TIMEOUT,
        preload: bool = True,
    ) -> Any:
        """Return the response to a request by path, as urllib3 has it: the client's own types would
        refuse what a server has besides. timeout: seconds to connect, and to wait for each part of
        the response; preload: whether its body is read at once. Raises urllib3's errors."""
        from urllib3.util import Timeout

        headers = {"Accept": "application/json", "User-Agent": "chartkit", **self.credentials}
        if body is not None:
            headers["Content-Type"] = _MEDIA.get(method, "application/json")
        return self._api.rest_client.pool_manager.request(
            "PATCH" if method == "APPLY" else method,
            f"{self.server.rstrip('/')}{path}",
            headers=headers,
            body=None if body is None else json.dumps(body),
            timeout=Timeout(*timeout),
            preload_content=preload,
            redirect=False,
            retries=False,
        )

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Turn errors of the connection, and of answers, into ClusterError."""
        from urllib3.exceptions import HTTPError, SSLError

        try:
            yield
        except SSLError:
            raise self._refusal(0, what) from None
        except HTTPError as error:
            hint = f"{type(error).__name__}: is the cluster up, and is this the right context?"
            raise NoAnswerError(f"{self.shown} does not answer", None, hint) from None
        except ValueError:
            text = f"{self.shown} answered {what} with what is not JSON of Kubernetes"
            raise ClusterError(text, None, "is this an API server?") from None

    def _refusal(self, status: int, what: str) -> ClusterError:
        if status == 401:
            hint = "log in again: the credentials are missing or have expired"
            return ClusterError(f"{self.shown} does not know you (401)", None, hint)
        if status == 403:
            hint = "docs/how-to/install.md lists the permissions that are needed"
            return ClusterError(f"{self.shown} does not allow you {what} (403)", None, hint)
        kind = NoAnswerError if status >= 500 or status in (0, 429) else ClusterError
        return kind(f"{self.shown} failed {what} ({status or 'no status'})")


def connect(context: str | None) -> Cluster:
    """Return the cluster of a kubeconfig's context, its current one for None, or the one around
    this Pod. Nothing is sent yet. Raises InputError for a kubeconfig or context that cannot be
    used, and where the client is not installed."""
    client, config = _library()
    configuration = client.Configuration()
    configuration.retries = False
    named = os.environ.get("KUBECONFIG")
    kubeconfig_paths = named.split(os.pathsep) if named else ["~/.kube/config"]
    files = [Path(path).expanduser() for path in kubeconfig_paths if path]
    paths = [path for path in files if path.exists()]
    if named and not paths:
        raise InputError("there is no such file", Location(named), "KUBECONFIG names it")
    if not paths and context is None and os.environ.get("KUBERNETES_SERVICE_HOST"):
        with _usable(config, "the Pod's service account"):
            config.load_incluster_config(configuration)
        return Cluster("", None, configuration.host, client.ApiClient(configuration))
    if not paths:
        hint = "set KUBECONFIG, or write ~/.kube/config"
        raise InputError("there is no kubeconfig", None, hint)
    shown = os.pathsep.join(map(str, paths))
    check_kubeconfigs(paths)
    with _usable(config, shown):
        contexts, current = config.list_kube_config_contexts(shown)
    names = [str(entry["name"]) for entry in contexts]
    name = context if context is not None else str(current["name"])
    if name not in names:
        hint = f"it has {', '.join(names)}"
        raise InputError(f"there is no context '{name}'", Location(shown), hint)
    with _usable(config, shown), _plugin_heard(name):
        api = config.new_client_from_config(shown, name, client_configuration=configuration)
    settings = configuration.auth_settings().values()
    if not all(is_sendable(setting["value"] or "") for setting in settings):
        text = f"the credentials of context '{name}' contain characters that a request cannot send"
        raise InputError(text, Location(shown))
    return Cluster(name, paths[0] if len(paths) == 1 else None, configuration.host, api)


def _library() -> tuple[Any, Any]:
    try:
        return import_module("kubernetes.client"), import_module("kubernetes.config")
    except ImportError:
        hint = extra("cluster")
        text = "Kubernetes' Python client is not installed"
        raise InputError(text, None, hint) from None


@contextmanager
def _usable(config: Any, file: str) -> Iterator[None]:
    """Raise errors without the kubeconfig's own text, which may contain tokens and keys."""
    location = Location(file)
    try:
        yield
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise InputError("is not YAML", Location(file, line)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or 'an error'}", location) from None
    except (
        config.ConfigException,
        yaml.YAMLError,
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        hint = "`kubectl version` with the same context says more"
        kind = type(error).__name__
        raise InputError(f"cannot be used as a kubeconfig ({kind})", location, hint) from None


@contextmanager
def _plugin_heard(context: str) -> Iterator[None]:
    """Raise ClusterError for a failed credential plugin, which the client only logs."""
    heard = _ErrorCounter()
    root = logging.getLogger()
    root.addHandler(heard)
    try:
        yield
    finally:
        root.removeHandler(heard)
    if heard.errors:
        hint = f"`kubectl --context {context} version` shows why"
        raise InputError(f"the credential plugin of context '{context}' failed", None, hint)


class _ErrorCounter(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors = 0

    def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002 - the text may hold secrets
        self.errors += 1


def check_kubeconfigs(paths: Iterable[Path]) -> None:
    """Look through kubeconfigs; raises InputError for one that is not as kubectl writes it."""
    for path in paths:
        try:
            documents = read_file(path)
        except InputError as error:
            location = error.location or Location(str(path))
            text = "is not YAML that can be read" if location.line else error.message
            raise InputError(text, location) from None
        if len(documents) != 1 or not isinstance(documents[0].body, dict):
            raise InputError("is not a kubeconfig", Location(str(path)), _HINT)
        for part in _TEXTS:
            _check_part(documents[0], part)


def _check_part(document: Document, part: str) -> None:
    members = document.body.get(part)
    if members is None:
        return
    if not isinstance(members, list):
        raise _wrong(document, "a list", part)
    inner, texts = _TEXTS[part]
    for at, member in enumerate(members):
        if not isinstance(member, dict) or not isinstance(member.get(inner), dict | None):
            raise _wrong(document, "a mapping", part, at)
        if not _is_text(member.get("name")):
            raise _wrong(document, "a text", part, at, "name")
        body = member.get(inner) or {}
        for key in texts:
            if body.get(key) is not None and not _is_text(body[key]):
                raise _wrong(document, "a text of one line", part, at, inner, key)
        for key in _MAPPINGS.get(part, ()):
            if not isinstance(body.get(key), dict | None):
                raise _wrong(document, "a mapping", part, at, inner, key)


def _is_text(value: Json) -> bool:
    """Report whether a value is a text without control characters."""
    return isinstance(value, str) and all(line.isprintable() for line in value.rstrip().split("\n"))


def _wrong(document: Document, what: str, *path: str | int) -> InputError:
    name = ".".join(map(str, path))
    return InputError(f"{name} must be {what}", document.locate(*path), _HINT)


def is_sendable(value: Json) -> bool:
    """Report whether a value can be sent as a header: a text of one line, in Latin-1."""
    if not isinstance(value, str) or not value.isprintable():
        return False
    return all(ord(character) <= _LATIN_1 for character in value)
