"""The engine in a page: static files that run in the browser, and nothing leaves it."""

from chartkit.addon import Addon

PLAYGROUND = Addon("playground", ports={"links": "chartkit.addons.playground.link:links"})
