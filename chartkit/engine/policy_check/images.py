"""What Kyverno's webhook refuses of a verifyImages rule's entries."""

from __future__ import annotations

from chartkit.engine.policy import Rule


def images_fault(index: int, rule: Rule, failure_action: str) -> str | None:
    """What is wrong with the entries of the rule at an index; None where they are sound.

    failure_action: the policy's own. An entry without one has that of the entry before it.
    """
    faults: list[str] = []
    for place, block in enumerate(rule.verify_images):
        failure_action = block.get("failureAction") or failure_action
        if failure_action in ("Audit", "audit") and block.get("mutateDigest") is not False:
            faults.append(
                f"spec.rules[{index}].verifyImages[{place}].mutateDigest: Invalid value: true: "
                "mutateDigest must be set to false for ‘Audit’ failure action"
            )
    if not faults:
        return None
    return faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
