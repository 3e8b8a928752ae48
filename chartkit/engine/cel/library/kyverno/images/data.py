"""`kyverno.imagedata`: what a registry knows of an image."""

from __future__ import annotations

from chartkit.engine.cel.declarations import Library, declared
from chartkit.engine.cel.errors import CelError
from chartkit.engine.cel.host import Host
from chartkit.engine.cel.library.kyverno.spellings import Context, context_variable, member
from chartkit.engine.cel.library.printing import doubles
from chartkit.engine.cel.values import Value
from chartkit.errors import Reraise

_VARIABLES = context_variable("image", "imagedata.Context")


@member("imagedata_get_string: imagedata.Context.getMetadata(string) -> dyn", hosted=True)
def get_metadata(host: Host, _image: Context, reference: str) -> Value:
    with Reraise("failed to get image data: ", CelError, CelError):
        return doubles(host.image_data(reference))


LIBRARY = Library("kyverno.imagedata", overloads=declared(globals()), variables=_VARIABLES)
