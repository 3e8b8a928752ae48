"""HTTP for all that asks other machines: downloads, registries, services that policies call.

It decides which addresses are connected to, where redirects lead, which certificates are trusted,
how much is read, how long it may take and what is tried again. The words for a failure, and the
credentials, are its users' own. It imports Go's quoting and the version, and nothing
else of chartkit.
"""
