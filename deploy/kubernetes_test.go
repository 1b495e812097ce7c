package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/goccy/go-yaml"
)

// The shapes below are what the manifests use of each kind. A field that they lack is a mistake in a manifest.

type meta struct {
	Name                string
	Labels, Annotations map[string]string
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type probe struct {
	HTTPGet       struct{ Path, Port string } `yaml:"httpGet"`
	PeriodSeconds int                         `yaml:"periodSeconds"`
}

type container struct {
	Name, Image string
	Args        []string
	Env         []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
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
	Resources    struct{ Requests, Limits map[string]string }
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type podTemplate struct {
	Metadata meta
	Spec     struct {
		RestartPolicy                 string `yaml:"restartPolicy"`
		AutomountServiceAccountToken  *bool  `yaml:"automountServiceAccountToken"`
		TerminationGracePeriodSeconds int    `yaml:"terminationGracePeriodSeconds"`
		SecurityContext               struct {
			RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
			RunAsUser      int                   `yaml:"runAsUser"`
			SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		TopologySpreadConstraints []struct {
			MaxSkew           int      `yaml:"maxSkew"`
			TopologyKey       string   `yaml:"topologyKey"`
			WhenUnsatisfiable string   `yaml:"whenUnsatisfiable"`
			LabelSelector     selector `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		Containers []container
		Volumes    []struct {
			Name      string
			ConfigMap struct{ Name string } `yaml:"configMap"`
		}
	}
}

// Header is what every object has.
type Header struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   meta
}

type configMap struct {
	Header `yaml:",inline"`
	Data   map[string]string
}

type job struct {
	Header `yaml:",inline"`
	Spec   struct {
		BackoffLimit            int `yaml:"backoffLimit"`
		ActiveDeadlineSeconds   int `yaml:"activeDeadlineSeconds"`
		TTLSecondsAfterFinished int `yaml:"ttlSecondsAfterFinished"`
		Template                podTemplate
	}
}

type deployment struct {
	Header `yaml:",inline"`
	Spec   struct {
		Selector selector
		Strategy struct {
			RollingUpdate struct {
				MaxUnavailable int `yaml:"maxUnavailable"`
				MaxSurge       int `yaml:"maxSurge"`
			} `yaml:"rollingUpdate"`
		}
		Template podTemplate
	}
}

type service struct {
	Header `yaml:",inline"`
	Spec   struct {
		Selector map[string]string
		Ports    []struct {
			Name        string
			Port        int
			TargetPort  string `yaml:"targetPort"`
			AppProtocol string `yaml:"appProtocol"`
		}
	}
}

type disruptionBudget struct {
	Header `yaml:",inline"`
	Spec   struct {
		MaxUnavailable int `yaml:"maxUnavailable"`
		Selector       selector
	}
}

type autoscaler struct {
	Header `yaml:",inline"`
	Spec   struct {
		ScaleTargetRef struct {
			APIVersion string `yaml:"apiVersion"`
			Kind, Name string
		} `yaml:"scaleTargetRef"`
		MinReplicas int `yaml:"minReplicas"`
		MaxReplicas int `yaml:"maxReplicas"`
		Metrics     []struct {
			Type     string
			Resource struct {
				Name   string
				Target struct {
					Type               string
					AverageUtilization int `yaml:"averageUtilization"`
				}
			}
		}
	}
}

type networkPolicy struct {
	Header `yaml:",inline"`
	Spec   struct {
		PodSelector selector `yaml:"podSelector"`
		PolicyTypes []string `yaml:"policyTypes"`
		Ingress     []struct {
			From []struct {
				NamespaceSelector selector `yaml:"namespaceSelector"`
				PodSelector       selector `yaml:"podSelector"`
			}
			Ports []struct{ Port string }
		}
	}
}

// A cluster is the objects of the manifests.
type cluster struct {
	policy   configMap
	job      job
	serve    deployment
	service  service
	budget   disruptionBudget
	scaler   autoscaler
	network  networkPolicy
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
			var h Header
			if err := yaml.Unmarshal(document, &h); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			to := map[string]any{
				"ConfigMap": &c.policy, "Job": &c.job, "Deployment": &c.serve, "Service": &c.service,
				"PodDisruptionBudget": &c.budget, "HorizontalPodAutoscaler": &c.scaler, "NetworkPolicy": &c.network,
			}[h.Kind]
			if to == nil || c.versions[h.Kind] != "" {
				t.Fatalf("%s: one %s too many", file, h.Kind)
			}
			c.versions[h.Kind] = h.APIVersion
			if err := yaml.NewDecoder(bytes.NewReader(document), yaml.Strict()).Decode(to); err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("%s: %s: %v", file, h.Kind, err)
			}
		}
	}
	return c
}
