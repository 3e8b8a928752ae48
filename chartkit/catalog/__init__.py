"""The catalogue of policies: the built-in, the vendored, and a team's own.

`entries` and `index` know every policy, `search` and `show` answer questions about them; `vendor`
takes whole libraries; `scaffold` and `check` are for policies of one's own. Nothing below imports
this package.
"""
