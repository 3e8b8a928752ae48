"""The engine in a page: static files that run in the browser, and nothing leaves it."""

from chartkit.addon import Addon

PLAYGROUND = Addon(
    "playground",
    commands={
        "playground": (
            "chartkit.addons.playground.server:playground",
            "Serve the page in which policies run in the browser.",
        )
    },
    ports={"links": "chartkit.addons.playground.link:links"},
)
