"""The marketplace of policies: what there is, what is vendored, what a team makes of its own.

`libraries` and `index` know every policy, `search` and `show` answer questions about them; `vendor`
takes whole libraries; `scaffold` and `check` are for policies of one's own. Nothing below imports
this package.
"""
