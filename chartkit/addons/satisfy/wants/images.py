"""Parts of images (`images.containers.*.registry`) as tests of the image's whole text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from chartkit.addons.satisfy.texts import Language, TooLargeError, one_of_wildcards, shortest
from chartkit.addons.satisfy.values import Test, negated
from chartkit.engine.scalars.image_reference import (
    ImageReference,
    ImageReferenceError,
    parse_image,
)
from chartkit.engine.scalars.wildcard import compile_wildcard
from chartkit.model import Json

PARTS: Final = frozenset(("registry", "path", "name", "tag", "digest"))
_DIGEST: Final = f"sha256:{'0' * 64}"
_EXAMPLE: Final = ImageReference("registry.example", "app", "1.0", "")
_DEFAULT: Final = "docker.io"
"""The registry of an image that names none."""


def _parsed(image: Json) -> ImageReference | None:
    try:
        return parse_image(image) if isinstance(image, str) else None
    except ImageReferenceError:
        return None


def of_part(test: Test, part: str) -> Test:
    """Return the test of an image whose part passes a test."""
    if test.opposite_of is not None:
        return negated(of_part(test.opposite_of, part), f"{part} {test.wants}")
    holds = test.holds

    def passes(image: Json) -> bool:
        parsed = _parsed(image)
        return parsed is not None and holds(getattr(parsed, part))

    def derived(current: Json) -> Iterator[Json]:
        known = _parsed(current) or _EXAMPLE
        probes = test.probes or _examples(test)
        for probe in (*probes, *((_DIGEST,) if part == "digest" else ())):
            if isinstance(probe, str) and probe:
                yield _with(known, part, probe.replace("*", "example").replace("?", "1"))

    return replace(
        test,
        wants=f"{part} {test.wants}",
        holds=passes,
        probes=(),
        derive=derived,
        is_closed=False,
        is_safe=False,
        languages=_languages(test, part),
        order="",
        points=(),
        is_positive=test.is_positive and part == "registry",
        needs_value=True,
        shapes=(),
    )


def _examples(test: Test) -> tuple[str, ...]:
    try:
        text = shortest(test.languages or ())
    except TooLargeError:
        return ()
    return () if text is None else (text,)


def _with(image: ImageReference, part: str, value: str) -> str:
    changed = replace(image, **{part: value})
    if changed.tag and changed.digest:
        changed = replace(changed, tag="")
    return str(changed)


def _languages(test: Test, part: str) -> tuple[Language, ...] | None:
    """Return the languages of images by those of their registry, which begins them, unless it is
    the one that is left out."""
    if part != "registry" or not test.languages:
        return None
    found = []
    for language in test.languages:
        texts = [probe for probe in test.probes if isinstance(probe, str)]
        patterns = texts if language.is_regex else [language.pattern]
        if not patterns or any(compile_wildcard(each)(_DEFAULT) for each in patterns):
            return None
        if not language.wanted and not all("." in each or ":" in each for each in patterns):
            return None
        found.append(one_of_wildcards((f"{each}/*" for each in patterns), language.wanted))
    return tuple(found)
