// Judges custom resource definitions and objects as the Kubernetes API server does.
//
// Standard input: {"definitions": [CustomResourceDefinition, …], "objects": [object, …]}.
// Standard output: {"definitions": {name: [error, …]}, "objects": [[error, …], …]}, in the order of
// the input; an object's unknown fields are errors, as kubectl's strict validation has them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

type input struct {
	Definitions []json.RawMessage `json:"definitions"`
	Objects     []json.RawMessage `json:"objects"`
}

type output struct {
	Definitions map[string][]string `json:"definitions"`
	Objects     [][]string          `json:"objects"`
}

type version struct {
	structural *structuralschema.Structural
	validator  schemavalidation.SchemaValidator
	rules      *cel.Validator
}

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	out := output{Definitions: map[string][]string{}, Objects: [][]string{}}
	versions := map[string]version{}
	for _, raw := range in.Definitions {
		name, problems := judgeDefinition(raw, versions)
		out.Definitions[name] = problems
	}
	for _, raw := range in.Objects {
		out.Objects = append(out.Objects, judgeObject(raw, versions))
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		os.Exit(2)
	}
}

func judgeDefinition(raw json.RawMessage, versions map[string]version) (string, []string) {
	definition := &v1.CustomResourceDefinition{}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(definition); err != nil {
		return definition.Name, []string{err.Error()}
	}
	v1.SetDefaults_CustomResourceDefinition(definition)
	v1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(definition, internal, nil); err != nil {
		return definition.Name, []string{err.Error()}
	}
	problems := texts(validation.ValidateCustomResourceDefinition(context.Background(), internal))
	for _, each := range internal.Spec.Versions {
		schema := each.Schema
		if schema == nil {
			schema = internal.Spec.Validation
		}
		structural, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
		if err != nil {
			problems = append(problems, each.Name+": "+err.Error())
			continue
		}
		validator, _, err := schemavalidation.NewSchemaValidator(schema.OpenAPIV3Schema)
		if err != nil {
			problems = append(problems, each.Name+": "+err.Error())
			continue
		}
		key := internal.Spec.Group + "/" + each.Name + "/" + internal.Spec.Names.Kind
		rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
		versions[key] = version{structural, validator, rules}
	}
	return definition.Name, problems
}

func judgeObject(raw json.RawMessage, versions map[string]version) []string {
	object := map[string]interface{}{}
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return []string{err.Error()}
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	known, ok := versions[apiVersion+"/"+kind]
	if !ok {
		return []string{"no definition of " + apiVersion + "/" + kind}
	}
	problems := []string{}
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	kept := runtime.DeepCopyJSON(object)
	for _, path := range pruning.PruneWithOptions(kept, known.structural, true, options) {
		problems = append(problems, fmt.Sprintf("unknown field %q", path))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(kept, known.structural)
	defaulting.Default(kept, known.structural)
	found := schemavalidation.ValidateCustomResource(nil, kept, known.validator)
	found = append(found, objectmeta.Validate(nil, kept, known.structural, false)...)
	found = append(found, listtype.ValidateListSetsAndMaps(nil, known.structural, kept)...)
	if !blocks(found) && known.rules != nil {
		broken, _ := known.rules.Validate(context.Background(), nil, known.structural, kept, nil, celconfig.RuntimeCELCostBudget)
		found = append(found, broken...)
	}
	return append(problems, texts(found)...)
}

// blocks tells whether rules in CEL are not evaluated for an object with these errors.
func blocks(list field.ErrorList) bool {
	for _, each := range list {
		switch each.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
			field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}

func texts(list field.ErrorList) []string {
	out := []string{}
	for _, each := range list {
		out = append(out, each.Error())
	}
	return out
}
