"""Checks of the place and the way in which objects of Argo CD and Flux deploy Kyverno.

Source: Kyverno's documentation, installation and platform notes.
"""

from __future__ import annotations

from typing import Final

from chartkit.documents.reader import Document
from chartkit.model import Explanation, Json, mapping_at, mappings_at, text_of, texts_of
from chartkit.scan.gitops.model import DeclaredRelease

NAMESPACE: Final = "CK611"
SERVER_SIDE: Final = "CK612"
DIFFERENCES: Final = "CK613"
PRESERVED: Final = "CK614"
_EXPLANATIONS: Final = (
    Explanation(
        NAMESPACE,
        what="An Application or a HelmRelease that deploys Kyverno into a namespace of others.",
        why="The webhooks leave Kyverno's namespace out, and so the other objects in it.",
        do="Give Kyverno a namespace of its own, such as kyverno.",
    ),
    Explanation(
        SERVER_SIDE,
        what="An Application of Kyverno without ServerSideApply=true, or with Replace=true.",
        why="Kyverno's definitions are too large for the annotation of a client-side apply, and "
        "replacing deletes what others wrote into existing objects.",
        do="Write ServerSideApply=true to spec.syncPolicy.syncOptions, and take Replace=true out.",
    ),
    Explanation(
        DIFFERENCES,
        what="An Application of Kyverno that Argo CD may show as out of sync for good.",
        why="Kubernetes writes the rules of aggregated ClusterRoles, and defaults of other "
        "objects. Argo CD may be set up for this as a whole, which no Application shows.",
        do="Annotate the Application with argocd.argoproj.io/compare-options: ServerSideDiff=true, "
        "and ignore the rules of aggregated ClusterRoles under spec.ignoreDifferences.",
    ),
    Explanation(
        PRESERVED,
        what="An Application of Kyverno's upstream chart that keeps config.preserve.",
        why="The hook for it leaves the Application out of sync in an app of apps, and may keep "
        "Argo CD from removing Kyverno together with the parent.",
        do="Set config.preserve: false in the values of the Application.",
    ),
)
_OTHERS_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
_COMPARING: Final = "argocd.argoproj.io/compare-options"


def add_faults(release: DeclaredRelease) -> None:
    """Add to a release of Kyverno what is wrong with how and where its object deploys it."""
    if release.namespace in _OTHERS_NAMESPACES:
        message = f"Kyverno goes into the namespace '{release.namespace}', beside others"
        hint = "give Kyverno a namespace of its own, such as kyverno"
        release.fault(message, "/spec", hint, NAMESPACE)
    body, top = release.owner.body, ""
    if release.owner.kind == "ApplicationSet":
        body, top = mapping_at(body, "spec", "template"), "/spec/template"
    elif release.owner.kind != "Application":
        return
    options = texts_of(mapping_at(body, "spec", "syncPolicy").get("syncOptions"))
    if "ServerSideApply=true" not in options:
        message = "without ServerSideApply=true Argo CD cannot apply Kyverno's definitions, "
        message += "which are too large for its annotation"
        hint = "add ServerSideApply=true to spec.syncPolicy.syncOptions"
        if "Replace=true" in options:
            message = "Replace=true replaces objects as a whole, with what others wrote into them"
            hint = "write ServerSideApply=true in its place under spec.syncPolicy.syncOptions"
        release.fault(message, f"{top}/spec", hint, SERVER_SIDE)
    compared = str(mapping_at(body, "metadata", "annotations").get(_COMPARING) or "")
    kinds = {text_of(each.get("kind")) for each in mappings_at(body, "spec", "ignoreDifferences")}
    missing = [] if "ServerSideDiff=true" in compared else [f"{_COMPARING}: ServerSideDiff=true"]
    missing += [] if kinds & {"ClusterRole", "*"} else ["ClusterRole in ignoreDifferences"]
    if missing:
        message = f"may stay out of sync: it has no {' and no '.join(missing)}"
        hint = "leave it where Argo CD is set up so as a whole"
        release.note(message, f"{top}/metadata", hint, DIFFERENCES)
    if release.origin and not release.unknown and _preserve(release) is not False:
        message = "config.preserve is true: Argo CD may not remove Kyverno with the Application"
        release.note(message, release.pointer, "set config.preserve: false", PRESERVED)


def _preserve(release: DeclaredRelease) -> Json:
    """Return the value of config.preserve that a release gives its chart; None for none, and False
    where values are not known."""
    found: Json = None
    for each in release.values:
        body = each.body if isinstance(each, Document) else each
        if not isinstance(body, dict):
            return False
        found = mapping_at(body, "config").get("preserve", found)
    return found
