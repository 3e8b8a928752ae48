"""The table of Go types, from Go source."""

from tools.pod_types import Source

CORE = """
// Pod is a thing.
type Pod struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	Spec PodSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

/* type Hidden struct {
} */

type PodSpec struct {
	Source `json:",inline"`
	Names []Name `json:"names"`
	Flag *bool `json:"flag"`
	Limits Limits `json:"limits"`
	At metav1.Time `json:"at"`
	NoJSON string `json:"-"`
}

type Source struct {
	Labels map[string]string `json:"labels"`
}

type Name string

type Limits map[Name]resource.Quantity
"""
META = """
type TypeMeta struct {
	Kind string `json:"kind,omitempty"`
}
"""


def test_fields_with_their_types() -> None:
    source = Source()
    source.add("core/v1", CORE)
    source.add("meta/v1", META)
    assert source.fields("core/v1.Pod") == {"kind": "TypeMeta string", "spec": "core/v1.PodSpec"}
    assert source.fields("core/v1.PodSpec") == {
        "labels": "Source map[string]string",
        "names": "[]v1.Name=string",
        "flag": "bool",
        "limits": "v1.Limits=map[string]Quantity",
        "at": "Time",
    }
