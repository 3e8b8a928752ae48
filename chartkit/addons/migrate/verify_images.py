"""Attestors: one who signs each, and the number of them that must have signed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chartkit.addons.migrate.assembly import text
from chartkit.addons.migrate.conditions import conditions_hold
from chartkit.addons.migrate.conversion import NotConvertible
from chartkit.addons.migrate.differences import (
    ALL_FETCHED,
    BUNDLES,
    IMAGE_NAMES,
    ONE_ATTESTATION,
    ONE_KEY,
    PULL_SECRETS,
    VERIFIED_AGAIN,
)
from chartkit.addons.migrate.expressions import build as cel
from chartkit.addons.migrate.expressions.place import ANY_MAP, Place
from chartkit.addons.migrate.expressions.presence import fits_any
from chartkit.addons.migrate.expressions.verdict import conjunction, disjunction
from chartkit.addons.migrate.jmespath import Names
from chartkit.addons.migrate.jmespath.terms import computed
from chartkit.addons.migrate.rule import Asked, ConvertedRule, asked_of_writes
from chartkit.addons.migrate.texts import text_expression
from chartkit.addons.migrate.validate.extension import require_one_extension
from chartkit.addons.migrate.validate.pod_security.pod import CONTAINER, pod_of
from chartkit.engine.cel.syntax import Expr
from chartkit.engine.cel_policies.image_host import SHORT_TYPES
from chartkit.engine.cluster_policy.policy import Policy, Rule
from chartkit.engine.cluster_policy.verify_images.blocks import converted
from chartkit.engine.context.variables import OPEN
from chartkit.engine.kubernetes.kinds import CelKind
from chartkit.engine.ports.signatures import METHODS, expanded
from chartkit.engine.scalars.wildcard import has_wildcard, regular_expression
from chartkit.model import Body, mapping_at, texts_below

NOTARY: Final = "Notary"
_PUBLIC_KEYS: Final = "publicKeys"
_PUBLIC_LOG: Final = "https://rekor.sigstore.dev"
_PEM: Final = "-----BEGIN"
_IGNORED: Final = "Kyverno takes the trusted root in place of it in an ImageValidatingPolicy"


@dataclass(slots=True)
class Attestors:
    """The attestors of a policy, named in the order in which they come; listed: `attestors`."""

    listed: list[Body] = field(default_factory=list)

    def name(self, attestor: Body, method: str) -> Expr:
        """Return an attestor by its name in expressions; one that is there already is the same."""
        for listed in self.listed:
            if {**listed, "name": ""} == {"name": "", **attestor}:
                return cel.path("attestors", listed["name"])
        count = sum(listed["name"].rstrip("0123456789") == method for listed in self.listed)
        name = f"{method}{count + 1}" if count else method
        self.listed.append({"name": name, **attestor})
        return cel.path("attestors", name)


@dataclass(frozen=True, slots=True)
class Signing:
    """The signing of an entry of `verifyImages`.

    block: the entry; attestors: those of the policy; names: of variables in keys; attestation: what
    attestors vouch for by it, None for the image itself.
    """

    block: Body
    attestors: Attestors
    names: Names
    attestation: Expr | None = None

    def enough(self, image: Expr, body: Body) -> Expr:
        """Report whether enough attestors of a set vouch for an image; raises `NotConvertible`."""
        entries = expanded(body.get("entries") or ())
        if not entries:
            raise NotConvertible("a set of attestors without entries", "verifyImages")
        required = body.get("count") or len(entries)
        nested = [entry["attestor"] for entry in entries if entry.get("attestor") is not None]
        own = [entry for entry in entries if entry.get("attestor") is None]
        terms: list[Expr] = []
        if own:
            listed = cel.list_of(self._attestor(entry) for entry in own)
            if self.attestation is None:
                terms.append(cel.call("verifyImageSignatures", image, listed))
            else:
                arguments = (image, self.attestation, listed)
                terms.append(cel.call("verifyAttestationSignatures", *arguments))
        terms += [cel.conditional(self.enough(image, set_), 1, 0) for set_ in nested]
        total = terms[0]
        for term in terms[1:]:
            total = cel.compare("+", total, term)
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
            raise NotConvertible("an attestor that names no identity", "verifyImages")
        body: Body = entry[method]
        cosign: Body = {**_READERS[method](body, entry, self.names), "ctlog": _logs(body)}
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


def _by_keys(body: Body, entry: Body, names_: Names) -> Body:
    keys, secret = body.get(_PUBLIC_KEYS) or "", body.get("secret")
    made: Body = {}
    if OPEN in keys:
        names_.note(ONE_KEY)
        made["expression"] = text_expression(keys, names_)
    elif keys.strip().startswith(_PEM):
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


def _by_certificates(body: Body, _entry: Body, _names: Names) -> Body:
    if body.get("certChain"):
        raise NotConvertible(
            "certificates with certChain: Kyverno refuses or ignores it in one of the two forms",
            "verifyImages",
        )
    return {"certificate": {"cert": {"value": body.get("cert") or ""}}}


def _keyless(body: Body, _entry: Body, _names: Names) -> Body:
    if body.get("roots"):
        raise NotConvertible(f"keyless.roots: {_IGNORED}", "verifyImages")
    if body.get("additionalExtensions"):
        raise NotConvertible(
            "additionalExtensions: Kyverno does not look at them in an ImageValidatingPolicy",
            "verifyImages",
        )
    made: Body = {}
    for name in ("issuer", "subject"):
        exact, pattern = (str(body.get(key) or "") for key in (name, f"{name}RegExp"))
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


_READERS: Final[Mapping[str, Callable[[Body, Body, Names], Body]]] = {
    "keys": _by_keys,
    "certificates": _by_certificates,
    "keyless": _keyless,
}
_NAMES: Final = {"keys": "key", "certificates": "certificate", "keyless": "keyless"}
"""By the field of an entry: the name of an attestor."""


_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_IMAGE: Final = "image"
_CONDITIONS: Final = "conditions"
_PREDICATE: Final = "predicate"
_SETTINGS: Final = ("mutateDigest", "verifyDigest", "required")
_NO_FORM: Final = {
    "validate": "conditions over all attestations of an image",
    "cosignOCI11": "signatures of cosign that refer to an image by OCI 1.1",
    "roots": "roots: Kyverno takes the trusted root in place of them in an ImageValidatingPolicy",
}
"""By field of an entry: what has no form in an ImageValidatingPolicy."""
_ANY: Final = "*"
_PLAIN: Final = re.compile(r"(?!docker\.io/)[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?/[a-z0-9._/-]*\*")
"""A registry with a dot and the beginning of a path: what a reference begins with in any case; the
registry docker.io is the one that a reference need not name."""
_WITH_HOST: Final = """
image.matches('^([^/]*[.:A-Z][^/]*|localhost)/') ? image : 'docker.io/' + image
"""
_WITH_TAG: Final = "image.matches('[:@][^/]*$') ? image : image + ':latest'"


def convert_verify_images(rule: Rule, policy: Policy) -> ConvertedRule:
    """Return a verifyImages rule as ImageValidatingPolicies; raises `NotConvertible`."""
    require_one_extension(rule, policy)
    if rule.body.get("imageExtractors"):
        raise NotConvertible(
            "imageExtractors: spec.images of an ImageValidatingPolicy finds such images, and no "
            "digest is added to them",
            "imageExtractors",
        )
    others = "it names operations that have no images to verify"
    about = asked_of_writes(rule, policy.namespace, others)
    blocks = [converted(image) for image in rule.verify_images]
    several = len(blocks) > 1
    rules = [
        replace(
            _converted(block, rule, about, f"verifyImages/{index}"),
            conditions=about.conditions,
            background=about.stated.background,
            name=f"{rule.name}-{index + 1}" if several else "",
        )
        for index, block in enumerate(blocks)
    ]
    return replace(rules[0], others=tuple(rules[1:]))


def _converted(block: Body, rule: Rule, about: Asked, place: str) -> ConvertedRule:
    attestations = [
        {key: value for key, value in body.items() if key != _CONDITIONS}
        for body in block.get("attestations") or ()
    ]
    for path, value in texts_below({**block, "attestations": attestations}):
        if OPEN in value and path[-1] != _PUBLIC_KEYS:
            raise NotConvertible(f"a variable in {path[-1]} of an entry of verifyImages", place)
    for key, reason in _NO_FORM.items():
        if block.get(key):
            raise NotConvertible(reason, f"{place}/{key}")
    scope = about.scope
    asked = {name: block.get(name) is not False for name in _SETTINGS}
    is_signed = bool(block.get("attestors") or block.get("attestations"))
    if is_signed or asked["mutateDigest"] or asked["required"]:
        names = about.context.names
        spec = _spec(block, rule, names)
        changes: tuple[str, ...] = (PULL_SECRETS, IMAGE_NAMES)
        changes += (VERIFIED_AGAIN,) if is_signed else (ALL_FETCHED,)
        changes += (BUNDLES,) if is_signed and not _is_notary(block) else ()
        if attestations != (block.get("attestations") or []):
            changes += (ONE_ATTESTATION,)
        return ConvertedRule(
            CelKind.IMAGE_VALIDATING,
            scope,
            spec,
            variables=about.context.used_in([*_expressions(spec)]),
            changes=(*changes, *names.changes),
        )
    if not asked["verifyDigest"]:
        raise NotConvertible("an entry that asks nothing of images", place)
    pod = pod_of(scope.object, scope.kinds)
    bodies = {
        name: _has_digest(list_.element(CONTAINER), block) for name, list_ in pod.lists.items()
    }
    test = pod.every(bodies)
    validation: Body = {"message": "images must be named by a digest", "expression": test}
    return ConvertedRule(
        CelKind.VALIDATING,
        scope,
        {"validations": [validation]},
        variables=pod.variables([test]),
        changes=(IMAGE_NAMES,),
    )


def _expressions(spec: Body) -> Iterator[Expr]:
    for part in spec["validations"]:
        yield part["expression"]
    for attestor in spec["attestors"]:
        key = mapping_at(attestor, "cosign", "key")
        if "expression" in key:
            yield key["expression"]


def _has_digest(container: Place, block: Body) -> Expr:
    image = container.child("image")
    others = cel.negate(names(image.value, block.get("imageReferences") or ()))
    digest = cel.method(image.value, "contains", "@")
    return disjunction(cel.negate(image.is_present()), others, digest)


def _is_notary(block: Body) -> bool:
    return block.get("type") == NOTARY


def _spec(block: Body, rule: Rule, names_: Names) -> Body:
    attestors = Attestors()
    image = cel.ident(_IMAGE)
    signing = Signing(block, attestors, names_)
    sets = [signing.enough(image, set_) for set_ in block.get("attestors") or ()]
    tests = [("images must be signed", conjunction(*sets))] if sets else []
    tests += _attested(block, attestors, image, names_)
    images = cel.concat(*(cel.path("images", name) for name in _LISTS))
    skipped = block.get("skipImageReferences") or ()
    exempt = names(image, skipped) if skipped else cel.FALSE
    references = match_references(block.get("imageReferences") or ())
    spec: Body = {}
    if references:
        spec["matchImageReferences"] = references
    if block.get("imageRegistryCredentials"):
        spec["credentials"] = dict(block["imageRegistryCredentials"])
    settings = {name: block.get(name) is not False for name in _SETTINGS}
    # Of images that are passed over, the validation asks nothing.
    settings["required"] &= not tests or exempt == cel.FALSE
    spec["validationConfigurations"] = settings
    spec["attestors"] = attestors.listed
    kind = "referrer" if _is_notary(block) else "intoto"
    if block.get("attestations"):
        spec["attestations"] = [
            {"name": _name(at), kind: {"type": _type(attestation)}}
            for at, attestation in enumerate(block["attestations"])
        ]
    spec["validations"] = [
        {
            "message": f"{words} as rule {rule.name} requires",
            "expression": cel.macro(images, "all", _IMAGE, disjunction(exempt, test)),
        }
        for words, test in tests
    ] or [{"expression": cel.TRUE}]
    return spec


def _attested(
    block: Body, attestors: Attestors, image: Expr, names_: Names
) -> Iterator[tuple[str, Expr]]:
    for at, body in enumerate(block.get("attestations") or ()):
        if not _type(body):
            raise NotConvertible("an attestation without a type", "verifyImages")
        if not body.get("attestors"):
            raise NotConvertible(
                f"the attestation {_type(body)} without attestors of its own, for which Kyverno "
                "takes any keyless signature: name those who must have signed it",
                "verifyImages",
            )
        attestation = cel.path("attestations", _name(at))
        signing = Signing(block, attestors, names_, attestation)
        sets = [signing.enough(image, attestor) for attestor in body["attestors"]]
        logs = [mapping_at(attestor, "cosign", "ctlog") for attestor in attestors.listed]
        if any(log.get("insecureIgnoreTlog") for log in logs):
            raise NotConvertible(
                "attestations that no log has (ignoreTlog), which Kyverno does not take in an "
                "ImageValidatingPolicy",
                "verifyImages",
            )
        conditions = body.get(_CONDITIONS) or ()
        if conditions and _type(body) in SHORT_TYPES:
            raise NotConvertible(
                f"conditions of {_type(body)}, which Kyverno does not show an "
                "ImageValidatingPolicy by its short name",
                "verifyImages",
            )
        if conditions:
            # Kyverno shows the statement of an attestation that was verified before.
            shown: Expr = cel.call("extractPayload", image, attestation)
            shown = shown if _is_notary(block) else cel.field(shown, _PREDICATE)
            inside = replace(names_, rest=computed(cel.ident(_PREDICATE), ANY_MAP))
            inside = inside.without(_IMAGE).without(_PREDICATE)
            met = conjunction(*(conditions_hold(condition, inside) for condition in conditions))
            sets.append(cel.bind(_PREDICATE, shown, met))
        yield f"images must have an attestation of {_type(body)}", conjunction(*sets)


def _name(index: int) -> str:
    return f"attestation{index + 1}"


def _type(body: Body) -> str:
    return str(body.get("type") or body.get("predicateType") or "")


def match_references(patterns: Sequence[str]) -> list[Body]:
    """Return `matchImageReferences`; none for every image."""
    if _ANY in patterns:
        return []
    globs: list[Body] = [{"glob": pattern} for pattern in patterns if _is_plain(pattern)]
    others = [pattern for pattern in patterns if not _is_plain(pattern)]
    if others:
        globs.append({"expression": text(names(cel.ident("ref"), others))})
    return globs


def _is_plain(pattern: str) -> bool:
    return _PLAIN.fullmatch(pattern) is not None


def names(reference: Expr, patterns: Sequence[str]) -> Expr:
    """Report whether an image, as an object names it, fits one of several wildcards.

    A ClusterPolicy compares `docker.io/nginx:latest` where an object says `nginx`, and leaves out
    the tag of an image that has a digest, too; CEL does neither.
    """
    if _ANY in patterns:
        return cel.TRUE
    if all(map(_is_plain, patterns)):
        return fits_any(reference, patterns)
    untagged = cel.call("regex.replace", cel.filled(_WITH_HOST, image=reference), ":[^/@]*@", "@")
    full = cel.filled(_WITH_TAG)
    fitting = fits_any(full, patterns)
    if len(patterns) > 1:
        fitting = cel.bind("full", full, fits_any(cel.ident("full"), patterns))
    return cel.bind("image", untagged, fitting)
