"""Rules read backwards: what makes an object pass, the smallest object that passes, and rules that
no object can keep together."""

from chartkit.addon import Addon

SATISFY = Addon(
    "satisfy",
    commands={
        "witness": (
            "chartkit.addons.satisfy.witness.command:witness",
            "Print the smallest object that all policies accept.",
        ),
    },
    ports={
        "conflicting": "chartkit.addons.satisfy.conflicts.findings:conflicting",
        "fix": "chartkit.addons.satisfy.fix.command:prepare",
        "shadowing": "chartkit.addons.satisfy.conflicts.findings:shadowing",
        "unsettling": "chartkit.addons.satisfy.conflicts.findings:unsettling",
    },
)
