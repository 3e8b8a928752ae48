from chartkit.engine.cluster_policy.mutate.workspace import Schema, schema_of_kind


def _keys(api_version: str, kind: str, *path: str) -> tuple[str, ...] | None:
    schema = schema_of_kind(api_version, kind)
    for name in path:
        assert schema is not None
        schema = schema.elements() if name == "[]" else schema.field(name)
    return None if schema is None else schema.keys


def test_lists_of_kubernetes_kinds_have_their_keys() -> None:
    assert _keys("v1", "Pod", "spec", "containers") == ("name",)
    template = ("spec", "template", "spec", "containers", "[]", "ports")
    assert _keys("apps/v1", "Deployment", *template) == ("containerPort", "protocol")
    assert _keys("v1", "Service", "spec", "ports") == ("port", "protocol")
    assert _keys("v1", "Pod", "metadata", "finalizers") == ()


def test_atomic_lists_and_fields_that_are_not_known_have_none() -> None:
    assert _keys("v1", "Pod", "spec", "tolerations") is None
    assert _keys("v1", "Pod", "spec", "nope") is None


def test_a_list_has_no_fields_and_an_object_no_elements() -> None:
    containers = schema_of_kind("v1", "Pod").field("spec").field("containers")  # type: ignore[union-attr]
    assert containers is not None
    assert containers.field("name") is None
    assert Schema("core.v1.PodSpec").elements() is None


def test_every_field_of_a_map_is_of_its_type() -> None:
    assert Schema("core.v1.PodSpec", is_map=True).field("any") == Schema("core.v1.PodSpec")


def test_custom_kinds_are_not_known() -> None:
    assert schema_of_kind("example.com/v1", "Widget") is None
    assert schema_of_kind("apps/v1", "Pod") is None
