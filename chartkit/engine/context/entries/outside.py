"""The context entries that ask for one object: `configMap`, `globalReference`, `imageRegistry`."""

from __future__ import annotations

from typing import Final

from chartkit.engine.context.context import NOTHING, Context
from chartkit.engine.context.entries.loader import EntryLoader, Path, held_type, no_text, stored
from chartkit.engine.context.variables import SubstitutionError, Template, compile_template
from chartkit.engine.ports.signatures import read_credentials
from chartkit.errors import EvaluationError, LookupFailed, NoSource, Reraise
from chartkit.go.fmt import go_sprint
from chartkit.go.types import GoTypes
from chartkit.model import Body, Json

_TYPES: Final = GoTypes(
    {"kyverno/v1.GlobalContextEntryReference": {"name": "string", "jmesPath": "string"}}
)


class ConfigMapLoader(EntryLoader):
    """Loads a ConfigMap's `data` and `metadata`."""

    def compile(self) -> None:
        self._name = self.template("name")
        self._namespace = self.template("namespace")

    def fetch(self, context: Context) -> Json:
        try:
            value = self._configmap(context)
        except NoSource:
            return NOTHING
        except (EvaluationError, LookupFailed) as error:
            raise EvaluationError(
                f"failed to retrieve config map for context entry {self.name}: {error.message}"
            ) from error
        return stored(value, context, f"failed to add config map for context entry {self.name}")

    def _configmap(self, context: Context) -> Body:
        name = self._text(self._name, "name", context)
        namespace = self._text(self._namespace, "namespace", context)
        namespace = namespace or self.namespace or "default"
        if self.namespace and namespace != self.namespace:
            raise EvaluationError(
                f'context entry {self.name}: configMap namespace "{namespace}" is different from '
                f'policy namespace "{self.namespace}"'
            )
        try:
            found = context.world.api.configmap(namespace, name)
        except NoSource:
            raise
        except LookupFailed as error:
            raise EvaluationError(
                f"failed to get configmap {namespace}/{name} : {error.message}"
            ) from error
        return {"data": found.get("data"), "metadata": found.get("metadata", {})}

    def _text(self, template: Template, key: str, context: Context) -> str:
        place = (
            f"failed to substitute variables in context {self.name} configMap.{key} "
            f"{template.value}: "
        )
        with Reraise(place, SubstitutionError):
            value = template.resolve(context)
        if not isinstance(value, str):
            raise EvaluationError(f"{place}expected string, got {held_type(value)}")
        return value


NO_GLOBALS: Final = "globalReference is not allowed in namespaced policies"


class GlobalReferenceLoader(EntryLoader):
    """Loads the data of a GlobalContextEntry; a dot in the name leads to a projection."""

    def compile(self) -> None:
        self._path = Path(self.text("jmesPath"))
        self._reference = compile_template({"name": self.text("name"), "jmesPath": self._path.text})

    def fetch(self, context: Context) -> Json:
        if self.namespace:
            raise EvaluationError(f"context entry {self.name}: {NO_GLOBALS}")
        failure = f"failed to marshal APICall data for context entry {self.name}"
        try:
            value = self._global(context)
        except NoSource:
            return NOTHING
        except (EvaluationError, LookupFailed) as error:
            raise EvaluationError(f"{failure}: {error.message}") from error
        return stored(value, context, failure)

    def _global(self, context: Context) -> Json:
        resolved = self._reference.resolve(context)
        reference = _TYPES.decode("kyverno/v1.GlobalContextEntryReference", resolved)
        path = reference.get("jmesPath", "")
        first, _, rest = reference.get("name", "").partition(".")
        data = context.world.global_context.data(first, rest.partition(".")[0])
        if not path:
            return data
        place = f"failed to apply JMESPath {path} for context entry {self.name}: "
        return self._path.search(path, data, place, context)


class ImageRegistryLoader(EntryLoader):
    """Loads what a registry knows of an image."""

    def compile(self) -> None:
        self._reference = self.template("reference")
        self._path = Path(self.text("jmesPath"))
        self._credentials = read_credentials(self.body.get("imageRegistryCredentials"))

    def fetch(self, context: Context) -> Json:
        # The missing letter is Kyverno's.
        reference = self._resolve(self._reference, self.text("reference"), "ailed", context)
        if not isinstance(reference, str):
            raise EvaluationError(
                f"invalid image reference {go_sprint(reference)}, image reference must be a string"
            )
        path = self._resolve(self._path.template, self._path.text, "failed", context)
        if not isinstance(path, str):
            raise EvaluationError(no_text(path))
        try:
            data: Json = context.world.images.image(reference, self._credentials)
        except NoSource:
            return NOTHING
        except LookupFailed as error:
            raise EvaluationError(error.message) from error
        if path:
            data = self._path.search(
                path,
                data,
                f"failed to apply JMESPath ({self._path.text}) results to context entry "
                f"{self.name}, error: ",
                context,
            )
        return stored(data, context, f"failed to add resource data to context: {self.name}")

    def _resolve(self, template: Template, written: str, failed: str, context: Context) -> Json:
        place = f"{failed} to substitute variables in context entry {self.name} {written}: "
        with Reraise(place, SubstitutionError):
            return template.resolve(context)
