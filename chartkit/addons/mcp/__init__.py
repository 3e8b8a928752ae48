"""Commands of chartkit as tools for agents, by the Model Context Protocol."""

from chartkit.addon import Addon

MCP = Addon(
    "mcp",
    commands={
        "mcp": (
            "chartkit.addons.mcp.command:mcp",
            "Offer chartkit to agents by the Model Context Protocol.",
        )
    },
)
