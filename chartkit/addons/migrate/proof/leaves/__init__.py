"""The places of a request that both forms of a policy look at, and values to try there.

It imports the engine: the parsed rules of ClusterPolicies and the trees of JMESPath and CEL.
"""
