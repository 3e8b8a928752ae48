"""Rules read backwards: what makes an object pass, the smallest object that passes, and rules that
no object can keep together."""

from chartkit.addon import Addon

SATISFY = Addon(
    "satisfy",
    commands={
        "witness": (
            "chartkit.addons.satisfy.command:witness",
            "Print the smallest object that all policies accept.",
        )
    },
    ports={
        "fix": "chartkit.addons.satisfy.fix:prepare",
        "together": "chartkit.addons.satisfy.conflicts:findings",
    },
)
