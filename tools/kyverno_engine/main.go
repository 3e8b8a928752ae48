// Answers requests with Kyverno's own engine, for tools/fuzz_policies.py, which builds it inside a
// checkout of Kyverno (its go.mod decides the versions).
//
// Policies of policies.kyverno.io are only compiled, as Kyverno's webhook does: of these the answer
// tells which are refused.
//
// Standard input: one case a line, {"policies", "exceptions", "resource", "old", "operation",
// "user", "namespaceLabels", "admission"}; admission: whether to read the request as the admission
// controller does, and not as the command-line program.
// Standard output: one answer a line, {"refused": {policy: text}, "rows": [[policy, rule, status,
// message], …], "patched", "error", "panic"}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	"github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno/data"
	"github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno/store"
	"github.com/kyverno/kyverno/ext/resource/convert"
	"github.com/kyverno/kyverno/ext/resource/loader"
	"github.com/kyverno/kyverno/pkg/cel/policies/gpol"
	"github.com/kyverno/kyverno/pkg/cel/policies/mpol"
	"github.com/kyverno/kyverno/pkg/cel/policies/vpol"
	"github.com/kyverno/kyverno/pkg/config"
	"github.com/kyverno/kyverno/pkg/engine"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"
	"github.com/kyverno/kyverno/pkg/engine/policycontext"
	"github.com/kyverno/kyverno/pkg/exceptions"
	imageverifycache "github.com/kyverno/kyverno/pkg/image/verification/cache"
	policyvalidation "github.com/kyverno/kyverno/pkg/validation/policy"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kubectl-validate/pkg/openapiclient"
)

type request struct {
	Policies   []json.RawMessage     `json:"policies"`
	Exceptions []json.RawMessage     `json:"exceptions"`
	Resource   map[string]any        `json:"resource"`
	Old        map[string]any        `json:"old"`
	Operation  string                `json:"operation"`
	User       kyvernov2.RequestInfo `json:"user"`
	Labels     map[string]string     `json:"namespaceLabels"`
	Admission  bool                  `json:"admission"`
}

type answer struct {
	Refused map[string]string `json:"refused"`
	Rows    [][4]string       `json:"rows"`
	Patched map[string]any    `json:"patched"`
	Error   string            `json:"error,omitempty"`
	Panic   string            `json:"panic,omitempty"`
}

type lister []*kyvernov2.PolicyException

func (l lister) List(labels.Selector) ([]*kyvernov2.PolicyException, error) { return l, nil }

var (
	definitions loader.Loader
	cfg         = config.NewDefaultConfiguration(false)
	jp          = jmespath.New(cfg)
)

func main() {
	data.InjectProcessor(data.NewCRDProcessor(nil))
	crds, err := data.Crds()
	if err == nil {
		definitions, err = loader.New(openapiclient.NewComposite(openapiclient.NewLocalCRDFiles(crds)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			text, fault := json.Marshal(judge(line))
			if fault != nil {
				text, _ = json.Marshal(answer{Error: fault.Error()})
			}
			fmt.Println(string(text))
		}
		if err == io.EOF {
			return
		}
	}
}

func judge(line []byte) (found answer) {
	found.Refused, found.Rows = map[string]string{}, [][4]string{}
	defer func() {
		if fault := recover(); fault != nil {
			found.Panic = fmt.Sprint(fault)
		}
	}()
	var asked request
	err := json.Unmarshal(line, &asked)
	if err == nil {
		err = asked.run(&found)
	}
	if err != nil {
		found.Error = err.Error()
	}
	return found
}

func typed[T any](raw json.RawMessage) (*T, error) {
	_, untyped, err := definitions.Load(raw)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return convert.To[T](untyped)
}

// compiled returns whether a policy is of policies.kyverno.io, and why Kyverno refuses it.
func compiled(raw json.RawMessage, meta metav1.PartialObjectMetadata) (bool, error) {
	kind := meta.GroupVersionKind()
	if kind.Group != "policies.kyverno.io" {
		return false, nil
	}
	switch kind.Kind {
	case "ValidatingPolicy":
		var policy policiesv1beta1.ValidatingPolicy
		err := json.Unmarshal(raw, &policy)
		if err == nil {
			_, err = vpol.Validate(&policy)
		}
		return true, err
	case "MutatingPolicy":
		var policy policiesv1beta1.MutatingPolicy
		err := json.Unmarshal(raw, &policy)
		if err == nil {
			_, err = mpol.Validate(&policy)
		}
		return true, err
	case "GeneratingPolicy":
		var policy policiesv1beta1.GeneratingPolicy
		err := json.Unmarshal(raw, &policy)
		if err == nil {
			_, err = gpol.Validate(&policy)
		}
		return true, err
	}
	return true, fmt.Errorf("%s is not compiled here", kind.Kind)
}

func readPolicy(raw json.RawMessage) (string, kyvernov1.PolicyInterface, error) {
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &meta); err != nil {
		return "", nil, err
	}
	var policy kyvernov1.PolicyInterface
	var err error
	if meta.Kind == "Policy" {
		policy, err = typed[kyvernov1.Policy](raw)
	} else {
		policy, err = typed[kyvernov1.ClusterPolicy](raw)
	}
	if err == nil {
		account := config.KyvernoUserName(config.KyvernoServiceAccountName())
		_, err = policyvalidation.Validate(policy, nil, nil, true, account, account)
	}
	return meta.Name, policy, err
}

func (r *request) run(found *answer) error {
	var policies []kyvernov1.PolicyInterface
	for _, raw := range r.Policies {
		var meta metav1.PartialObjectMetadata
		if err := json.Unmarshal(raw, &meta); err != nil {
			return err
		}
		if is, err := compiled(raw, meta); is {
			if err != nil {
				found.Refused[meta.Name] = err.Error()
			}
			continue
		}
		name, policy, err := readPolicy(raw)
		if err != nil {
			found.Refused[name] = err.Error()
		} else {
			policies = append(policies, policy)
		}
	}
	var excepted lister
	for _, raw := range r.Exceptions {
		exception, err := typed[kyvernov2.PolicyException](raw)
		if err != nil {
			return err
		}
		excepted = append(excepted, exception)
	}
	var local store.Store
	local.SetLocal(true)
	isCluster := false
	eng := engine.NewEngine(cfg, jp, nil, nil, imageverifycache.DisabledImageVerifyCache(),
		store.ContextLoaderFactory(&local, nil), exceptions.New(excepted), &isCluster)
	resource := unstructured.Unstructured{Object: r.Resource}
	run := func(policy kyvernov1.PolicyInterface, phase func(context.Context, engineapi.PolicyContext) engineapi.EngineResponse) error {
		pc, err := r.context(resource)
		if err != nil {
			return err
		}
		response := phase(context.Background(), pc.WithPolicy(policy).WithNamespaceLabels(r.Labels))
		for _, rule := range response.PolicyResponse.Rules {
			row := [4]string{policy.GetName(), rule.Name(), string(rule.Status()), rule.Message()}
			found.Rows = append(found.Rows, row)
		}
		if r.Operation != "DELETE" {
			resource = response.PatchedResource
		}
		return nil
	}
	for _, policy := range policies {
		if policy.GetSpec().HasMutate() {
			if err := run(policy, eng.Mutate); err != nil {
				return err
			}
		}
	}
	found.Patched = resource.Object
	for _, policy := range policies {
		if policy.GetSpec().HasValidate() {
			if err := run(policy, eng.Validate); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *request) context(resource unstructured.Unstructured) (*policycontext.PolicyContext, error) {
	operation, gvk := kyvernov1.AdmissionOperation(r.Operation), resource.GroupVersionKind()
	if r.Admission {
		review := admissionv1.AdmissionRequest{
			Operation: admissionv1.Operation(operation), UserInfo: r.User.AdmissionUserInfo,
			Kind: metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind},
			Name: resource.GetName(), Namespace: resource.GetNamespace(),
		}
		raw, err := json.Marshal(resource.Object)
		if err != nil {
			return nil, err
		}
		review.Object.Raw = raw
		if operation == kyvernov1.Delete {
			review.Object.Raw, review.OldObject.Raw = nil, raw
		} else if r.Old != nil {
			if review.OldObject.Raw, err = json.Marshal(r.Old); err != nil {
				return nil, err
			}
		}
		return policycontext.NewPolicyContextFromAdmissionRequest(jp, review, r.User, gvk, cfg)
	}
	fresh, before := resource, r.Old
	if operation == kyvernov1.Delete {
		fresh, before = unstructured.Unstructured{}, resource.Object
	}
	pc, err := policycontext.NewPolicyContext(jp, fresh, operation, &r.User, cfg)
	if err == nil && before != nil {
		pc = pc.WithOldResource(unstructured.Unstructured{Object: before})
		err = pc.JSONContext().AddOldResource(before)
	}
	if err == nil {
		err = pc.JSONContext().AddNamespace(resource.GetNamespace())
	}
	if err != nil {
		return nil, err
	}
	return pc.WithResourceKind(gvk, ""), nil
}
