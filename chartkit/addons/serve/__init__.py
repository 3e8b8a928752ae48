"""The admission server, and the estimate of what its webhooks cost a cluster."""

from chartkit.addon import Addon

SERVE = Addon(
    "serve",
    commands={
        "serve": (
            "chartkit.addons.serve.commands:serve",
            "Answer an API server's admission reviews, for tests.",
        ),
        "estimate": (
            "chartkit.addons.serve.commands:estimate",
            "Estimate the load of policies on a cluster.",
        ),
    },
)
