"""`kyverno.user`: the service account behind a user name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from chartkit.engine.cel.declarations import Library, StructType, Variable, declared
from chartkit.engine.cel.library.kyverno.spellings import prefixed
from chartkit.engine.cel.notation import named
from chartkit.engine.cel.types import STRING, struct, type_of_type
from chartkit.engine.cel.values import Struct, Value

SERVICE_ACCOUNT: Final = named(struct("user.ServiceAccount"))
_PREFIX: Final = "system:serviceaccount:"


@prefixed("parse_service_account_string: user.parseServiceAccount(string) -> user.ServiceAccount")
def parse_service_account(user: str) -> Struct:
    namespace, colon, name = user.removeprefix(_PREFIX).partition(":")
    if not user.startswith(_PREFIX) or not colon:
        return _service_account({})
    return _service_account({"Name": name, "Namespace": namespace})


def _service_account(fields: Mapping[str, Value]) -> Struct:
    """The value; as in Go, an empty field counts as one that was not set."""
    filled = {key: text for key, text in fields.items() if text}
    return Struct(SERVICE_ACCOUNT, filled, _UNSET)


_UNSET: Final = MappingProxyType({"Name": "", "Namespace": ""})
_FIELDS: Final = MappingProxyType({"Name": STRING, "Namespace": STRING})

LIBRARY = Library(
    "kyverno.user",
    overloads=declared(globals()),
    structs=(StructType(SERVICE_ACCOUNT.name, _FIELDS, _service_account),),
    variables=MappingProxyType(
        {
            SERVICE_ACCOUNT.name: Variable(
                type_of_type(SERVICE_ACCOUNT), SERVICE_ACCOUNT, has_value=True
            )
        }
    ),
)
