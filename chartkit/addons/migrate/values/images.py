"""Images: registry and repository are two keys, tags name the Kyverno that the old chart ran."""

from __future__ import annotations

import re
from typing import Final

from chartkit.addons.migrate.values.context import Context, Outcome
from chartkit.kyverno.releases import current
from chartkit.kyverno.versions import Version
from chartkit.output.yaml_tree import Entry, Path, as_block, data_of
from chartkit.values.moved import Row, misshapen

_REPOSITORIES: Final = {
    ("admissionController", "container", "image"): "kyverno/kyverno",
    ("admissionController", "initContainer", "image"): "kyverno/kyvernopre",
    ("cleanupController", "image"): "kyverno/cleanup-controller",
}
_REGISTRIES: Final = ("ghcr.io", "reg.kyverno.io")
_GLOBAL: Final = ("global", "image", "registry")
_TAG: Final = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?!\d)")
_CHECKER: Final = "readiness-checker"
_HUBS: Final = ("", "docker.io", "index.docker.io", "registry.k8s.io", "ghcr.io", "curlimages")
_PUBLIC: Final = ("", "bitnami/kubectl", "kubectl", "busybox", "library/busybox", "curl")
"""The registry of the old charts' images of jobs, for values that never name it."""
_OTHERS: Final = "background-controller, cleanup-controller, reports-controller and kyvernopre"


def move_image(context: Context, row: Row) -> None:
    """Registry and repository of an image, whose two keys are looked at together."""
    parent, target = row.key[:-1], row.targets[0]
    upstream = _REPOSITORIES[target]
    keys = [(*parent, name) for name in ("registry", "repository")]
    there = {key: entry for key in keys if (entry := context.tree.find(key)) is not None}
    present = [key for key in there if not misshapen("image", data_of(there[key].value))]
    texts = [str(context.value(key) or "") if key in present else "" for key in keys]
    host, path = _split(texts[0], texts[1] or f"ghcr.io/{upstream}")
    if host in _REGISTRIES and path == upstream:
        why = "It is the image that the chart takes by itself, from reg.kyverno.io."
        do = "Set global.image.registry: ghcr.io where nodes reach that registry alone."
        for key in present:
            context.remove(key, why, do)
        return
    entries = [context.tree.take(key) for key in present]
    entries[0].lead += [line for entry in entries[1:] for line in entry.lead]
    if path == upstream and context.value(_GLOBAL) in (None, host):
        context.set(_GLOBAL, host, entries[0])
        why = "The registry mirrors Kyverno's images, and all of them are pulled from it."
        do = "Images of jobs have registries of their own: webhooksCleanup.image and test.image."
        _say(context, present, entries, [_GLOBAL], why, do)
        return
    places = [(*target, "registry"), (*target, "repository")]
    context.set(places[0], host, entries[0] if len(entries) > 1 else None)
    context.set(places[1], path, entries[-1])
    _say(context, present, entries, places, row.why, "")
    if target[0] == "admissionController" and target[1] == "container":
        why = "The image has a name of its own; those of the other controllers are not known."
        do = f"Say where {_OTHERS} are: their image.registry and image.repository."
        context.say(Outcome.ASKED, parent, entries[0], (), why, do)


def move_tag(context: Context, row: Row) -> None:
    """A tag, which is left out where it names an older Kyverno than the chart is for."""
    entry = context.tree.find(row.key)
    tag = context.value(row.key)
    if entry is None or tag in (None, ""):
        if entry is not None and row.key != row.targets[0]:
            context.remove(row.key, "It is empty, and says nothing.")
        return
    match = _TAG.match(str(tag))
    if match and Version(int(match[1]), int(match[2])) < current().version:
        why = f"The tag {tag} is of an older Kyverno than the chart is for, which takes its own."
        context.remove(row.key, why, f"To pin a version, name one of Kyverno {current().version}.")
    elif match:
        if row.key != row.targets[0]:
            context.move(row)
    else:
        why = f"It cannot be seen which Kyverno the tag {tag} is."
        do = f"Name an image of Kyverno {current().version} in {'.'.join(row.targets[0])}, or none."
        context.remove(row.key, why, do, Outcome.ASKED)


def job_image(context: Context, row: Row) -> None:
    """The image of a job that ran kubectl or busybox, and runs a program of Kyverno's now."""
    entry = context.tree.find(row.key)
    if entry is None:
        return
    block = as_block(entry)
    if block is None:
        text = str(context.value(row.key) or "")
        if not text:
            context.remove(row.key, "It is empty, and says nothing.")
            return
        _drop(context, row, [row.key], *_split("", text, ""))
        return
    fields = {entry.key: str(context.value((*row.key, entry.key)) or "") for entry in block.entries}
    name = fields.get("repository", "")
    if name.split(":")[0].endswith(_CHECKER):
        return
    keys = [(*row.key, name) for name in ("registry", "repository", "tag") if name in fields]
    rest = [(*row.key, field) for field in fields if (*row.key, field) not in keys]
    for key in rest:
        if row.key != row.targets[0] and context.value(key) is not None:
            context.move(row, key=key, targets=[(*row.targets[0], key[-1])])
    if keys:
        _drop(context, row, keys, *_split(fields.get("registry", ""), name, ""))
    if context.tree.find(row.key) is not None and row.key != row.targets[0]:
        context.remove(row.key, row.why)


def _drop(context: Context, row: Row, keys: list[Path], host: str, path: str) -> None:
    own = host not in _HUBS or path.split(":")[0] not in _PUBLIC
    do = ""
    if own:
        image = ".".join(row.targets[0])
        do = f"Mirror ghcr.io/kyverno/readiness-checker, and say where it is in {image}."
    for key in keys:
        context.remove(key, row.why, do, Outcome.ASKED if own else Outcome.REMOVED)


def _say(
    context: Context,
    keys: list[Path],
    entries: list[Entry],
    targets: list[Path],
    why: str,
    do: str,
) -> None:
    for key, entry in zip(keys, entries, strict=True):
        context.say(Outcome.MOVED, key, entry, targets, why, do)


def _split(registry: str, repository: str, default: str = "docker.io") -> tuple[str, str]:
    """The host and the path of an image; default: the host of one that names none."""
    if registry:
        return registry, repository
    host, slash, path = repository.partition("/")
    if slash and ("." in host or ":" in host or host == "localhost"):
        return host, path
    return default, repository
