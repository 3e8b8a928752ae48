"""The context entry `apiCall`: the Kubernetes API or a service, with a default and a JMESPath."""

from __future__ import annotations

import contextlib
import posixpath
import re
from dataclasses import dataclass, replace
from typing import Final

from chartkit.engine.context.context import NOTHING, Context
from chartkit.engine.context.entries.loader import EntryLoader, Path, no_text, stored
from chartkit.engine.context.variables import SubstitutionError, compile_template
from chartkit.engine.ports.services import (
    MOST_BYTES,
    BadUrlError,
    Ending,
    NotAllowedError,
    ServiceCall,
    posted,
    printed,
    said,
)
from chartkit.engine.ports.world import ServiceSource
from chartkit.errors import EvaluationError, LookupFailed, NoSource, Reraise
from chartkit.go.json_decoder import JsonError, parse_json
from chartkit.go.strconv import quote
from chartkit.go.url import UrlError, unescape_path
from chartkit.go.x509 import holds_certificate
from chartkit.model import Body, Json

UNMADE: Final = "failed to execute HTTP request for APICall"
_METHODS: Final = ("GET", "POST")


@dataclass(frozen=True, slots=True)
class Reply:
    """The body of an answer that was a success. size: in bytes; said: what messages show of it."""

    text: str
    size: int
    said: str

    def value(self) -> Json:
        """The body, decoded; raises JsonError."""
        return parse_json(self.text)


def call_service(name: str, body: Body, services: ServiceSource, tries: int = 1) -> Reply:
    """Makes the call of an `apiCall` whose variables are resolved; name: what messages call it;
    tries: how often, where it fails.

    Raises EvaluationError in Kyverno's words, and NoSource where no service is called.
    """
    method, service = body.get("method") or "GET", body.get("service")
    if service is None:
        raise EvaluationError(f"missing service for APICall {name}")
    authorities = service.get("caBundle") or ""
    if authorities and not holds_certificate(authorities):
        raise EvaluationError(f"failed to parse PEM CA bundle for APICall {name}")
    if method not in _METHODS:
        raise EvaluationError(
            f"failed to build HTTP request for APICall {name}: "
            f"invalid request type {method} for APICall {name}"
        )
    headers = service.get("headers")
    if not isinstance(headers, list):
        header_values: tuple[tuple[str, str], ...] = ()
    else:
        header_values = tuple(
            (str(item.get("key")), str(item.get("value", "")))
            for item in headers
            if isinstance(item, dict)
        )
    built = ServiceCall(
        method,
        service.get("url") or "",
        header_values,
        posted(request_data(body.get("data"))) if method == "POST" else None,
        authorities,
    )
    call = replace(built, tries=tries)
    try:
        answer = services.ask(call)
    except NoSource:
        raise
    except BadUrlError as error:
        raise EvaluationError(
            f"failed to build HTTP request for APICall {name}: "
            f"failed to build request for APICall {name}: {error.message}"
        ) from error
    except LookupFailed as error:
        raise EvaluationError(f"{UNMADE} {name}: {error}") from error
    shown = said(answer, call)
    if not 200 <= answer.status < 300:
        status = f"HTTP {answer.status} {printed(answer.reason, call)}".rstrip()
        raise EvaluationError(f"{status}: {shown}" if answer.ending is Ending.WHOLE else status)
    if answer.ending is Ending.TOO_LARGE:
        raise EvaluationError(
            f"response length must be less than max allowed response length of {MOST_BYTES}"
        )
    if answer.ending is Ending.CUT:
        raise EvaluationError(f"failed to read data from APICall {name}: unexpected EOF")
    return Reply(answer.body.decode("utf-8", "replace"), len(answer.body), shown)


def request_data(data: Json) -> Body:
    """The pairs of `data` as one object."""
    if not isinstance(data, list):
        return {}
    return {str(item.get("key")): item.get("value") for item in data if isinstance(item, dict)}


def _cleaned(path: str) -> str:
    """A path decoded and without steps back, as Kyverno looks for its namespace since 1.19.1."""
    with contextlib.suppress(UrlError):
        path = unescape_path(path)
    root = "/" if path.startswith("/") else ""
    return posixpath.normpath(root + path.lstrip("/"))


_NAMESPACED = re.compile(r"/apis?/.*?/namespaces/([^/]+)/?.*")
_MISSING = object()
_STORED = "failed to store data for APICall: "


class ApiCallLoader(EntryLoader):
    """Loads the answer to a call. A default, as it is, replaces a call that fails.

    At admission (`World.uses_defaults`) it also replaces calls that cannot be made. Elsewhere
    `NoSource` goes up to the rule, past messages and defaults: Kyverno's command line has no entry
    then. With recorded answers, a call without one is left out.
    """

    def compile(self) -> None:
        self._call = compile_template(self.body)
        self._path = Path(self.text("jmesPath"))
        default = self.body.get("default")
        self._default = _MISSING if default is None else default

    def prepare(self, context: Context) -> bool:
        """Put a recorded answer into the context now; False without one.

        Raises `EvaluationError` for unavailable variables and for a status outside 2xx, even if no
        expression will ever name the entry: Kyverno's test command does so.
        """
        prefix = f"failed to substitute variables in apiCall context entry {quote(self.name)}"
        call = self._resolve(context, prefix)
        service = call.get("service")
        url = call.get("urlPath") if service is None else service.get("url")
        answer = context.world.mocks.recorded(call.get("method") or "GET", url) if url else None
        if answer is None:
            return False
        if not 200 <= answer.status < 300:
            raise EvaluationError(
                f"HTTP {answer.status} from apiCall mock for context entry {quote(self.name)} "
                "(v1 apiCall treats non-2xx as failure)"
            )
        value = answer.body
        if path := call.get("jmesPath"):
            shown = f"{quote(path)} for context entry {quote(self.name)}"
            value = self._search(path, value, shown, context)
        context.add((self.name,), stored(value, context, "failed to marshal JMESPath result"))
        return True

    def fetch(self, context: Context) -> Json:
        try:
            data = self._fetch(context)
        except NoSource as error:
            if context.world.mocks.has_recorded:
                return NOTHING
            # Nothing replaces an answer that was not asked for: the rule is undecided.
            raise NoSource(
                f"context entry {self.name}: the call cannot be made: {error.message}",
                hint=error.hint,
            ) from error
        except (EvaluationError, LookupFailed) as error:
            raise EvaluationError(f"failed to fetch data for APICall: {error.message}") from error
        if isinstance(data, Reply):
            # The answer of a service; that it is JSON is checked here, after the default.
            try:
                value = data.value()
            except JsonError as error:
                raise self._no_json(data, error, context) from None
            if self._path.text and value != self._default:
                return self._transform(value, context)
            context.count(data.size)
            return value
        if data is self._default or data == self._default or not self._path.text:
            return stored(data, context, self._stored_failure("resource data to"))
        return self._transform(data, context)

    def _no_json(self, reply: Reply, error: JsonError, context: Context) -> EvaluationError:
        if not self._path.text:
            return EvaluationError(f"{self._stored_failure('resource data to')}: {error}")
        cause = f"failed to unmarshal JSON: {reply.said}, error: {error}"
        path = self._resolved_path(context)
        shown = f"{path} for context entry {self.name}"
        return EvaluationError(f"{_STORED}failed to apply JMESPath {shown}: {cause}")

    def _fetch(self, context: Context) -> Json | Reply:
        written = self.text("urlPath")
        prefix = f"failed to substitute variables in context entry {self.name} {written}"
        call = self._resolve(context, prefix)
        self._check_namespace(call.get("urlPath") or "")
        try:
            path = call.get("urlPath")
            if not path:
                try:
                    return call_service(self.name, call, context.world.services)
                except NotAllowedError:
                    raise
                except NoSource as error:
                    if context.world.mocks.has_recorded:
                        raise
                    raise EvaluationError(f"{UNMADE} {self.name}: {error}") from error
            method = call.get("method") or "GET"
            try:
                return context.world.api.call(method, path, request_data(call.get("data")))
            except NoSource:
                raise
            except LookupFailed as error:
                raise EvaluationError(
                    f"failed to {method} resource with raw url: {path}: {error.message}"
                ) from error
        except (EvaluationError, LookupFailed) as error:
            is_kept = isinstance(error, NoSource) and not context.world.uses_defaults
            if self._default is _MISSING or is_kept:
                raise
            return self._default

    def _resolve(self, context: Context, prefix: str) -> Body:
        with Reraise(f"{prefix}: ", SubstitutionError):
            call: Body = self._call.resolve(context)
        service = call.get("service") or {}
        if not isinstance(service, dict):
            raise EvaluationError(f"{prefix}: service must be an object")
        texts = (call.get("urlPath"), call.get("method"), service.get("url"))
        if not all(text is None or isinstance(text, str) for text in texts):
            raise EvaluationError(f"{prefix}: urlPath, method and url must be strings")
        return call

    def _check_namespace(self, path: str) -> None:
        if not self.namespace:
            return
        path = _cleaned(path)
        match = _NAMESPACED.fullmatch(path)
        if match is None:
            raise EvaluationError(
                f"path {path} does not contain a namespace segment, which is required for "
                "namespaced policies"
            )
        if match[1] != self.namespace:
            raise EvaluationError(
                f"path {path} refers to namespace {match[1]}, which is different from the policy "
                f"namespace {self.namespace}"
            )

    def _resolved_path(self, context: Context) -> str:
        prefix = f"failed to substitute variables in context entry {self.name} JMESPath "
        with Reraise(f"{_STORED}{prefix}{self._path.text}: ", SubstitutionError):
            path = self._path.template.resolve(context)
        if not isinstance(path, str):
            raise EvaluationError(_STORED + no_text(path))
        return path

    def _transform(self, data: Json, context: Context) -> Json:
        path = self._resolved_path(context)
        with Reraise(_STORED, EvaluationError):
            value = self._search(path, data, f"{path} for context entry {self.name}", context)
        return stored(value, context, self._stored_failure("APICall results for"))

    def _search(self, path: str, data: Json, shown: str, context: Context) -> Json:
        return self._path.search(path, data, f"failed to apply JMESPath {shown}: ", context)

    def _stored_failure(self, what: str) -> str:
        return f"{_STORED}failed to add {what} context entry {self.name}"
