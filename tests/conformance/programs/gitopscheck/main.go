// Reads what deployers read, with their own types and parsers: objects of Flux, Terraform's
// configuration and its format, and Helmfile's states.
//
// Standard input: {"objects": [object, …], "terraform": [text, …], "helmfile": [state, …],
// "helmfileSource": [text, …]}; the source is that of the package that has Helmfile's types.
// Standard output: for each of the first three a list of errors for each item, in their order.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"

	helm "github.com/fluxcd/helm-controller/api/v2"
	kustomize "github.com/fluxcd/kustomize-controller/api/v1"
	source "github.com/fluxcd/source-controller/api/v1"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	strict "sigs.k8s.io/json"
)

type input struct {
	Objects        []json.RawMessage `json:"objects"`
	Terraform      []string          `json:"terraform"`
	Helmfile       []any             `json:"helmfile"`
	HelmfileSource []string          `json:"helmfileSource"`
}

type output struct {
	Objects   [][]string `json:"objects"`
	Terraform [][]string `json:"terraform"`
	Helmfile  [][]string `json:"helmfile"`
}

var kinds = map[string]func() any{
	"helm.toolkit.fluxcd.io/v2/HelmRelease":        func() any { return &helm.HelmRelease{} },
	"kustomize.toolkit.fluxcd.io/v1/Kustomization": func() any { return &kustomize.Kustomization{} },
	"source.toolkit.fluxcd.io/v1/GitRepository":    func() any { return &source.GitRepository{} },
	"source.toolkit.fluxcd.io/v1/HelmRepository":   func() any { return &source.HelmRepository{} },
	"source.toolkit.fluxcd.io/v1/OCIRepository":    func() any { return &source.OCIRepository{} },
}

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var out output
	for _, raw := range in.Objects {
		out.Objects = append(out.Objects, judgeObject(raw))
	}
	for _, text := range in.Terraform {
		out.Terraform = append(out.Terraform, judgeTerraform([]byte(text)))
	}
	types, err := readTypes(in.HelmfileSource)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, state := range in.Helmfile {
		problems := []string{}
		types.judge(state, ast.NewIdent("HelmState"), "", &problems)
		out.Helmfile = append(out.Helmfile, problems)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		os.Exit(2)
	}
}

func judgeObject(raw json.RawMessage) []string {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return []string{err.Error()}
	}
	made, known := kinds[head.APIVersion+"/"+head.Kind]
	if !known {
		return []string{"unknown kind " + head.APIVersion + "/" + head.Kind}
	}
	problems := []string{}
	faults, err := strict.UnmarshalStrict(raw, made())
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, each := range faults {
		problems = append(problems, each.Error())
	}
	return problems
}

func judgeTerraform(text []byte) []string {
	problems := []string{}
	_, diagnostics := hclsyntax.ParseConfig(text, "main.tf", hcl.InitialPos)
	for _, each := range diagnostics {
		problems = append(problems, each.Error())
	}
	if len(problems) == 0 && !bytes.Equal(hclwrite.Format(text), text) {
		problems = append(problems, "is not formatted")
	}
	return problems
}

type field struct {
	key      string
	kind     ast.Expr
	isInline bool
}

type types map[string]ast.Expr

func readTypes(texts []string) (types, error) {
	found := types{}
	for _, text := range texts {
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, each := range general.Specs {
				if spec, ok := each.(*ast.TypeSpec); ok {
					found[spec.Name.Name] = spec.Type
				}
			}
		}
	}
	return found, nil
}

func fieldsOf(structure *ast.StructType) []field {
	found := []field{}
	for _, each := range structure.Fields.List {
		if each.Tag == nil {
			continue
		}
		text, _ := strconv.Unquote(each.Tag.Value)
		key, options, _ := strings.Cut(reflect.StructTag(text).Get("yaml"), ",")
		if inline := strings.Contains(options, "inline"); inline || (key != "" && key != "-") {
			found = append(found, field{key, each.Type, inline})
		}
	}
	return found
}

// keys adds the keys of a structure, those of what it embeds among them.
func (t types) keys(structure *ast.StructType, into map[string]ast.Expr) {
	for _, each := range fieldsOf(structure) {
		if !each.isInline {
			into[each.key] = each.kind
		} else if name, ok := each.kind.(*ast.Ident); ok {
			if inner, ok := t[name.Name].(*ast.StructType); ok {
				t.keys(inner, into)
			}
		}
	}
}

func (t types) judge(value any, kind ast.Expr, path string, problems *[]string) {
	fail := func(want string) {
		*problems = append(*problems, fmt.Sprintf("%s: is not a %s: %v", path, want, value))
	}
	switch known := kind.(type) {
	case *ast.StarExpr:
		if value != nil {
			t.judge(value, known.X, path, problems)
		}
	case *ast.ArrayType:
		items, ok := value.([]any)
		if !ok {
			fail("list")
		}
		for at, each := range items {
			t.judge(each, known.Elt, fmt.Sprintf("%s[%d]", path, at), problems)
		}
	case *ast.MapType:
		members, ok := value.(map[string]any)
		if !ok {
			fail("map")
		}
		for key, each := range members {
			t.judge(each, known.Value, path+"."+key, problems)
		}
	case *ast.StructType:
		members, ok := value.(map[string]any)
		if !ok {
			fail("structure")
		}
		keys := map[string]ast.Expr{}
		t.keys(known, keys)
		for key, each := range members {
			if inner, ok := keys[key]; ok {
				t.judge(each, inner, path+"."+key, problems)
			} else {
				*problems = append(*problems, path+"."+key+": unknown field")
			}
		}
	case *ast.Ident:
		t.judgeNamed(value, known, path, problems, fail)
	}
}

func (t types) judgeNamed(value any, name *ast.Ident, path string, problems *[]string, fail func(string)) {
	switch name.Name {
	case "string":
		if _, ok := value.(string); !ok {
			fail("string")
		}
	case "bool":
		if _, ok := value.(bool); !ok {
			fail("bool")
		}
	case "int", "int64", "uint":
		if number, ok := value.(float64); !ok || number != float64(int64(number)) {
			fail("number")
		}
	default:
		if inner, ok := t[name.Name]; ok {
			t.judge(value, inner, path, problems)
		}
	}
}
