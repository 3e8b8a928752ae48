"""Custom resources judged as an API server does, by their CustomResourceDefinitions: pruned and
defaulted, then validated by schema, list types and rules in CEL. Imports the engine's language and
Go's values; of the other rooms of `scan` none."""
