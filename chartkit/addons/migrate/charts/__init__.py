"""Policies that are templates of charts: the new form written next to the old one, behind a value
of the chart.

`template` reads templates, `rendering` carries them out with `marks` in place of what values give,
`writing` writes converted policies with the templates' own code where the marks came out, in
`lines`, `chart` brings both forms together, and `proof` asks Helm for both. `served` finds
conditions on APIs around policies, and `chosen` the kinds and operations that values choose.
"""
