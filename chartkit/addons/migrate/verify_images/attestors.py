"""Attestors: one who signs each, and the number of them that must have signed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.expressions import build as cel
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.ports.signatures import METHODS, expanded
from chartkit.engine.scalars.wildcard import has_wildcard, regular_expression
from chartkit.model import Body

NOTARY: Final = "Notary"
_PUBLIC_LOG: Final = "https://rekor.sigstore.dev"
_PEM: Final = "-----BEGIN"
_IGNORED: Final = "Kyverno takes the trusted root in place of it in an ImageValidatingPolicy"


@dataclass(slots=True)
class Attestors:
    """The attestors of a policy, named in the order in which they come; listed: `attestors`."""

    listed: list[Body] = field(default_factory=list)

    def name(self, attestor: Body, method: str) -> Expr:
        """Return an attestor by its name in expressions; one that is there already is the same."""
        for each in self.listed:
            if {**each, "name": ""} == {"name": "", **attestor}:
                return cel.path("attestors", each["name"])
        count = sum(each["name"].rstrip("0123456789") == method for each in self.listed)
        name = f"{method}{count + 1}" if count else method
        self.listed.append({"name": name, **attestor})
        return cel.path("attestors", name)


@dataclass(frozen=True, slots=True)
class Signing:
    """The signing of an entry of `verifyImages`.

    block: the entry; attestors: those of the policy; count: the call that says how many of several
    attestors vouch for an image.
    """

    block: Body
    attestors: Attestors
    count: Callable[[Expr, Expr], Expr]

    def enough(self, image: Expr, body: Body) -> Expr:
        """Return whether enough attestors of a set vouch for an image; raises `NotConvertible`."""
        entries = expanded(body.get("entries") or ())
        if not entries:
            raise NotConvertible("a set of attestors without entries", "verifyImages")
        required = body.get("count") or len(entries)
        nested = [each["attestor"] for each in entries if each.get("attestor") is not None]
        own = [each for each in entries if each.get("attestor") is None]
        terms: list[Expr] = []
        if own:
            listed = cel.list_of(self._attestor(each) for each in own)
            terms.append(self.count(image, listed))
        terms += [cel.conditional(self.enough(image, each), 1, 0) for each in nested]
        total = terms[0]
        for each in terms[1:]:
            total = cel.compare("+", total, each)
        return cel.compare(">=", total, required)

    def _attestor(self, entry: Body) -> Expr:
        if entry.get("annotations") or self.block.get("annotations"):
            raise NotConvertible(
                "annotations of signatures: Kyverno looks for them in another place in an "
                "ImageValidatingPolicy",
                "verifyImages",
            )
        if self.block.get("type") == NOTARY:
            certificates: Body = entry.get("certificates") or {}
            chain = certificates.get("certChain")
            if not certificates.get("cert") or chain:
                raise NotConvertible("a Notary attestor is one certificate", "verifyImages")
            notary = {"certs": {"value": certificates["cert"]}}
            return self.attestors.name({"notary": notary}, "notary")
        method = next((name for name in METHODS if entry.get(name) is not None), None)
        if method is None:
            raise NotConvertible("an attestor that names nobody", "verifyImages")
        body: Body = entry[method]
        cosign: Body = {**_READERS[method](body, entry), "ctlog": _logs(body)}
        repository = entry.get("repository") or self.block.get("repository")
        if repository:
            cosign["source"] = {"repository": repository}
        return self.attestors.name({"cosign": cosign}, _NAMES[method])


def _logs(body: Body) -> Body:
    rekor: Body = {"url": _PUBLIC_LOG} if body.get("rekor") is None else body["rekor"]
    log: Body = body.get("ctlog") or {}
    for name, place in ((rekor.get("pubkey"), "rekor"), (log.get("pubkey"), "ctlog")):
        if name:
            raise NotConvertible(f"{place}.pubkey: {_IGNORED}", "verifyImages")
    made: Body = {"url": rekor.get("url") or _PUBLIC_LOG}
    if rekor.get("ignoreTlog"):
        made["insecureIgnoreTlog"] = True
    if log.get("ignoreSCT"):
        made["insecureIgnoreSCT"] = True
    if log.get("tsaCertChain"):
        made["tsaCertChain"] = log["tsaCertChain"]
    return made


def _by_keys(body: Body, entry: Body) -> Body:
    keys, secret = body.get("publicKeys") or "", body.get("secret")
    made: Body = {}
    if keys.strip().startswith(_PEM):
        made["data"] = keys
    elif keys:
        made["kms"] = keys
    elif secret is not None:
        made["kms"] = f"k8s://{secret.get('namespace') or ''}/{secret.get('name') or ''}"
    elif body.get("kms"):
        made["kms"] = body["kms"]
    else:
        raise NotConvertible("an attestor with keys and without a key", "verifyImages")
    algorithm = body.get("signatureAlgorithm") or entry.get("signatureAlgorithm")
    if algorithm and algorithm != "sha256":
        made["hashAlgorithm"] = algorithm
    return {"key": made}


def _by_certificates(body: Body, _entry: Body) -> Body:
    if body.get("certChain"):
        raise NotConvertible(
            "certificates with certChain: Kyverno refuses or ignores it in one of the two forms",
            "verifyImages",
        )
    return {"certificate": {"cert": {"value": body.get("cert") or ""}}}


def _keyless(body: Body, _entry: Body) -> Body:
    if body.get("roots"):
        raise NotConvertible(f"keyless.roots: {_IGNORED}", "verifyImages")
    if body.get("additionalExtensions"):
        raise NotConvertible(
            "additionalExtensions: Kyverno does not look at them in an ImageValidatingPolicy",
            "verifyImages",
        )
    made: Body = {}
    for name in ("issuer", "subject"):
        exact, pattern = (str(body.get(each) or "") for each in (name, f"{name}RegExp"))
        if bool(exact) is bool(pattern):
            raise NotConvertible(
                f"a keyless attestor names its {name} in one way, and not in two or none",
                "verifyImages",
            )
        if pattern or has_wildcard(exact):
            made[f"{name}RegExp"] = pattern or regular_expression(exact)
        else:
            made[name] = exact
    return {"keyless": {"identities": [made]}}


_READERS: Final[Mapping[str, Callable[[Body, Body], Body]]] = {
    "keys": _by_keys,
    "certificates": _by_certificates,
    "keyless": _keyless,
}
_NAMES: Final = {"keys": "key", "certificates": "certificate", "keyless": "keyless"}
"""By the field of an entry: the name of an attestor."""


def sets_of(block: Body) -> Sequence[Body]:
    """Return the sets of attestors of an entry."""
    return block.get("attestors") or ()
