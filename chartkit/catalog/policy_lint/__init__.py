"""The rules of `chartkit policies lint`: mistakes that Kyverno accepts.

`rules/` has the rules, one function each, with the words in rules.yaml; `rule.py` what they are
given and yield; `findings.py` runs them, at the levels that a project sets.
"""
