"""The results that policy-reporter has, by its API: `GET /v1/…/results`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlencode, urlsplit

from chartkit.addons.operate.promote.model import ObjectName
from chartkit.addons.operate.promote.reports import ReportedResult, moment_of
from chartkit.documents.json_text import parse_json
from chartkit.engine.ports import ServiceCall, ServiceSource
from chartkit.errors import InputError, LookupFailed
from chartkit.model import Body, Json, mapping_at, mappings_at

_PAGE: Final = 500
_MOST: Final = 2_000
"""The most pages that are read of one policy: a million results."""
_PATHS: Final = ("v1/namespaced-resources/results", "v1/cluster-resources/results")


def reporter_results(
    url: str, policies: Sequence[str], services: ServiceSource
) -> Iterator[ReportedResult]:
    """Yield the results of some policies; raise InputError where policy-reporter does not answer as
    its API does."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"'{url}' is no URL of policy-reporter", hint="http://HOST:PORT")
    for path in _PATHS:
        for policy in policies:
            yield from _results(f"{url.rstrip('/')}/{path}", policy, services)


def permission(url: str) -> str:
    """Return the hint that lets chartkit call policy-reporter at a URL."""
    return f"--allow-network {urlsplit(url).netloc} lets chartkit call it"


def _results(url: str, policy: str, services: ServiceSource) -> Iterator[ReportedResult]:
    for page in range(1, _MOST + 1):
        query = urlencode({"policies": policy, "page": page, "offset": _PAGE})
        body = _asked(f"{url}?{query}", services)
        items = mappings_at(body, "items")
        yield from map(_result, items)
        count = body.get("count")
        if len(items) < _PAGE or (isinstance(count, int) and page * _PAGE >= count):
            return


def _asked(url: str, services: ServiceSource) -> Body:
    try:
        answer = services.ask(ServiceCall("GET", url, tries=2))
    except LookupFailed as error:
        hint = error.hint or permission(url)
        raise InputError(f"policy-reporter does not answer: {error.message}", hint=hint) from None
    body: Json = None
    if answer.is_success:
        try:
            body = parse_json(answer.body)
        except ValueError:
            body = None
    if not isinstance(body, dict) or not isinstance(body.get("items"), list):
        message = f"{url} is not answered as policy-reporter does ({answer.status})"
        raise InputError(message, hint="its API needs rest.enabled of its chart")
    return body


def _result(item: Body) -> ReportedResult:
    texts = {
        key: str(item.get(key) or "")
        for key in ("policy", "rule", "status", "message", "kind", "namespace", "name")
    }
    subject = ObjectName(texts["kind"], texts["namespace"], texts["name"])
    return ReportedResult(
        texts["policy"],
        texts["rule"],
        texts["status"],
        texts["message"],
        subject,
        str(item.get("apiVersion") or ""),
        moment_of(item.get("timestamp")),
        str(mapping_at(item, "properties").get("source") or ""),
    )
