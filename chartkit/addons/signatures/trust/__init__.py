"""Keys, certificates, time stamps and logs: read, and followed to whom a user trusts.

It imports none of the formats (`cosign`, `bundles`, `notary`), which build on it.
"""
