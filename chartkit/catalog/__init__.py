"""The catalogue of policies: the built-in, the vendored, and a team's own.

`entries` knows every policy, `search` and `show` answer questions about them; `vendoring` takes
whole libraries; `authoring` is for policies of one's own, `policy_lint` for anyone's. Nothing below
imports this package.
"""
