"""Changes clusters and projects that are in use: what is there is read first, and can be undone.

`adopt` writes a project for what is in use, `promote` sets policies from Audit to Enforce,
`install` carries an environment into a cluster and out of it.
"""

from chartkit.addon import Addon

OPERATE = Addon(
    "operate",
    commands={
        "adopt": (
            "chartkit.addons.operate.commands.adopt:adopt",
            "Write a project for the policies and the Kyverno that are in use.",
        ),
        "plan": (
            "chartkit.addons.operate.commands.plan:plan",
            "Show the order in which to upgrade Kyverno and Kubernetes, and rehearse it.",
        ),
        "facts": (
            "chartkit.addons.operate.commands.facts:facts",
            "Take newer facts about releases and removed APIs.",
        ),
        "promote": (
            "chartkit.addons.operate.commands.promote:promote",
            "Set policies from Audit to Enforce by evidence.",
        ),
        "install": (
            "chartkit.addons.operate.commands.install:install",
            "Install an environment in a cluster, or upgrade it there.",
        ),
        "uninstall": (
            "chartkit.addons.operate.commands.install:uninstall",
            "Remove an environment from a cluster, with its webhooks.",
        ),
        "rescue": (
            "chartkit.addons.operate.commands.rescue:rescue",
            "Open a cluster that Kyverno's webhooks lock.",
        ),
        "package": (
            "chartkit.addons.operate.commands.publish:package",
            "Check the charts and pack them.",
        ),
        "push": (
            "chartkit.addons.operate.commands.publish:push",
            "Push packed charts to an OCI registry.",
        ),
    },
    ports={"releases": "chartkit.addons.operate.commands.install:connected"},
)
