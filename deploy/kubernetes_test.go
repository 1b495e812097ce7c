package deploy_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/goccy/go-yaml"
)

// The shapes below are what the tests read of each kind.

type labels = map[string]string

type selector struct {
	MatchLabels labels `yaml:"matchLabels"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type container struct {
	Args  []string
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	LivenessProbe   probe `yaml:"livenessProbe"`
	ReadinessProbe  probe `yaml:"readinessProbe"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct{ Drop []string }
	} `yaml:"securityContext"`
	Resources struct{ Limits map[string]string }
}

type podTemplate struct {
	Metadata struct{ Labels labels }
	Spec     struct {
		AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
		TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
		SecurityContext               struct {
			RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
			RunAsUser      int                   `yaml:"runAsUser"`
			SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		TopologySpreadConstraints []struct {
			LabelSelector selector `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		Containers []container
		Volumes    []struct {
			ConfigMap struct{ Name string } `yaml:"configMap"`
		}
	}
}

// A named is an object with a specification.
type named[S any] struct {
	Metadata struct{ Name string }
	Spec     S
}

// A cluster is the objects of the manifests.
type cluster struct {
	policy struct {
		Metadata struct{ Name string }
		Data     map[string]string
	}
	job   named[struct{ Template podTemplate }]
	serve named[struct {
		Selector selector
		Template podTemplate
	}]
	service named[struct {
		Selector labels
		Ports    []struct {
			Name       string
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
	}]
	budget named[struct{ Selector selector }]
	scaler named[struct {
		ScaleTargetRef struct{ Kind, Name string } `yaml:"scaleTargetRef"`
		MinReplicas    int                         `yaml:"minReplicas"`
	}]
	network named[struct {
		PodSelector selector `yaml:"podSelector"`
	}]
	versions map[string]string // of the API, by kind
}

func readManifests(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{versions: map[string]string{}}
	for _, file := range []string{"serve/kubernetes-libraries.yaml", "serve/kubernetes.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			var header struct {
				APIVersion string `yaml:"apiVersion"`
				Kind       string
			}
			if err := yaml.Unmarshal(document, &header); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			to := map[string]any{
				"ConfigMap": &c.policy, "Job": &c.job, "Deployment": &c.serve, "Service": &c.service,
				"PodDisruptionBudget": &c.budget, "HorizontalPodAutoscaler": &c.scaler, "NetworkPolicy": &c.network,
			}[header.Kind]
			if to == nil || c.versions[header.Kind] != "" {
				t.Fatalf("%s: one %s too many", file, header.Kind)
			}
			c.versions[header.Kind] = header.APIVersion
			if err := yaml.Unmarshal(document, to); err != nil {
				t.Fatalf("%s: %s: %v", file, header.Kind, err)
			}
		}
	}
	return c
}
