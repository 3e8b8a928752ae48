"""Diagnostics, hover, completion and fixes in editors, by the Language Server Protocol."""

from chartkit.addon import Addon

LSP = Addon(
    "lsp",
    commands={
        "lsp": (
            "chartkit.addons.lsp.command:lsp",
            "Serve an editor: diagnostics, hover, completion and fixes (Language Server Protocol).",
        )
    },
)
