"""The context entry `apiCall`: the Kubernetes API or a service, with a default and a JMESPath."""

from __future__ import annotations

import posixpath
import re

from chartkit.engine.context.context import NOTHING, Context
from chartkit.engine.context.entries.loader import EntryLoader, Path, no_text, stored
from chartkit.engine.context.entries.service_call import UNMADE, Reply, call_service, request_data
from chartkit.engine.context.variables import SubstitutionError, compile_template
from chartkit.engine.jmespath import JMESPathError
from chartkit.engine.ports.services import NotAllowedError
from chartkit.errors import EvaluationError, LookupFailed, NoSource
from chartkit.go.json_decoder import JsonError
from chartkit.go.strconv import quote
from chartkit.model import Body, Json

_NAMESPACED = re.compile(r"/apis?/.*?/namespaces/([^/]+)/?.*")
_MISSING = object()


class ApiCallLoader(EntryLoader):
    """Loads the answer to a call. A default, as it is, replaces a call that fails.

    Where there is no cluster to call, `NoSource` goes up to the rule, past messages and defaults;
    with recorded answers, a call without one is left out.
    """

    def __init__(self, name: str, body: Body, namespace: str) -> None:
        super().__init__(name, body, namespace)
        self._call = compile_template(body)
        self._path = Path(self.text("jmesPath"))
        default = body.get("default")
        self._default = _MISSING if default is None else default

    def prepare(self, context: Context) -> bool:
        """Takes a recorded answer into the context now; False where there is none.

        Raises `EvaluationError` for variables that cannot be had and for a status outside 2xx,
        even if no expression will ever name the entry: Kyverno's test command does so.
        """
        place = f"failed to substitute variables in apiCall context entry {quote(self.name)}"
        call = self._resolve(context, place)
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
        path = call.get("jmesPath")
        if path:
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
            raise self._failed("fetch", error.message) from error
        if isinstance(data, Reply):
            return self._keep(data, context)
        if data is self._default or data == self._default or not self._path.text:
            return stored(data, context, self._stored_failure("resource data to"))
        return self._transform(data, context)

    def _keep(self, reply: Reply, context: Context) -> Json:
        """Return the answer of a service; that it is JSON is checked here, after the default."""
        try:
            value = reply.value()
        except JsonError as error:
            raise self._no_json(reply, error, context) from None
        if self._path.text and value != self._default:
            return self._transform(value, context)
        context.count(reply.size)
        return value

    def _no_json(self, reply: Reply, error: JsonError, context: Context) -> EvaluationError:
        if not self._path.text:
            return EvaluationError(f"{self._stored_failure('resource data to')}: {error}")
        cause = f"failed to unmarshal JSON: {reply.said}, error: {error}"
        path = self._resolved_path(context)
        shown = f"{path} for context entry {self.name}"
        return self._failed("store", f"failed to apply JMESPath {shown}: {cause}")

    def _fetch(self, context: Context) -> Json | Reply:
        written = self.text("urlPath")
        place = f"failed to substitute variables in context entry {self.name} {written}"
        call = self._resolve(context, place)
        self._check_namespace(call.get("urlPath") or "")
        try:
            return self._ask(call, context)
        except NoSource:
            raise
        except (EvaluationError, LookupFailed):
            if self._default is _MISSING:
                raise
            return self._default

    def _resolve(self, context: Context, place: str) -> Body:
        try:
            call: Body = self._call.resolve(context)
        except SubstitutionError as error:
            raise EvaluationError(f"{place}: {error.message}") from error
        service = call.get("service") or {}
        if not isinstance(service, dict):
            raise EvaluationError(f"{place}: service must be an object")
        texts = (call.get("urlPath"), call.get("method"), service.get("url"))
        if not all(text is None or isinstance(text, str) for text in texts):
            raise EvaluationError(f"{place}: urlPath, method and url must be strings")
        return call

    def _check_namespace(self, path: str) -> None:
        if not self.namespace:
            return
        path = posixpath.normpath(path)
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

    def _ask(self, call: Body, context: Context) -> Json | Reply:
        path = call.get("urlPath")
        if not path:
            return self._ask_service(call, context)
        method = call.get("method") or "GET"
        try:
            return context.world.api.call(method, path, request_data(call.get("data")))
        except NoSource:
            raise
        except LookupFailed as error:
            raise EvaluationError(
                f"failed to {method} resource with raw url: {path}: {error.message}"
            ) from error

    def _ask_service(self, call: Body, context: Context) -> Reply:
        try:
            return call_service(self.name, call, context.world.services)
        except NotAllowedError:
            raise
        except NoSource as error:
            if context.world.mocks.has_recorded:
                raise
            raise EvaluationError(f"{UNMADE} {self.name}: {error}") from error

    def _resolved_path(self, context: Context) -> str:
        try:
            path = self._path.template.resolve(context)
        except SubstitutionError as error:
            raise self._failed(
                "store",
                f"failed to substitute variables in context entry {self.name} JMESPath "
                f"{self._path.text}: {error.message}",
            ) from error
        if not isinstance(path, str):
            raise self._failed("store", no_text(path))
        return path

    def _transform(self, data: Json, context: Context) -> Json:
        path = self._resolved_path(context)
        try:
            value = self._search(path, data, f"{path} for context entry {self.name}", context)
        except EvaluationError as error:
            raise self._failed("store", error.message) from error
        return stored(value, context, self._stored_failure("APICall results for"))

    def _search(self, path: str, data: Json, shown: str, context: Context) -> Json:
        try:
            return self._path.expression(path).search(data, context.budget)
        except JMESPathError as error:
            raise EvaluationError(f"failed to apply JMESPath {shown}: {error}") from error

    def _failed(self, step: str, cause: str) -> EvaluationError:
        return EvaluationError(f"failed to {step} data for APICall: {cause}")

    def _stored_failure(self, what: str) -> str:
        return f"failed to store data for APICall: failed to add {what} context entry {self.name}"
