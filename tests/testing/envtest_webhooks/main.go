// Does what a suite of controller-runtime does with webhooks: makes certificates, serves two
// webhooks by TLS, tells the API server of them, creates an object and sees itself called.
//
// usage: main SERVER DIRECTORY SHAPE
//
// DIRECTORY has ca.crt, client.crt and client.key. SHAPE says what stands in the caBundle:
// "serving" for the serving certificate itself, as envtest writes it; "authority" for the one that
// signed it; "knative" for an authority that has the subject of what it signs.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

type object = map[string]interface{}

const configurations = "/apis/admissionregistration.k8s.io/v1/"

func must(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// pair is a certificate with its key.
type pair struct {
	der []byte
	key *ecdsa.PrivateKey
}

func (p pair) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.der})
}

func issue(subject string, by *pair, isAuthority bool) pair {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	must(err)
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: subject, Organization: []string{"example.org"}},
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(time.Hour),
		BasicConstraintsValid: true,
		IsCA:                  isAuthority,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses:           []net.IP{net.ParseIP("127.0.0.1")},
	}
	if isAuthority {
		template.KeyUsage |= x509.KeyUsageCertSign
	}
	parent, signer := template, key
	if by != nil {
		parent, err = x509.ParseCertificate(by.der)
		must(err)
		signer = by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	must(err)
	return pair{der, key}
}

// certificates gives what is served and what goes into the bundle.
func certificates(shape string) (pair, []byte) {
	subject := "serving"
	if shape == "knative" {
		subject = "authority"
	}
	authority := issue("authority", nil, true)
	serving := issue(subject, &authority, false)
	if shape == "serving" {
		return serving, serving.pem()
	}
	return serving, authority.pem()
}

// serve answers reviews: one path labels what comes, the other denies what has the label.
func serve(serving pair) string {
	mux := http.NewServeMux()
	answer := func(path string, response func(labels object) object) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			var review object
			if json.NewDecoder(r.Body).Decode(&review) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			request := review["request"].(object)
			metadata := request["object"].(object)["metadata"].(object)
			labels, _ := metadata["labels"].(object)
			made := response(labels)
			made["uid"] = request["uid"]
			delete(review, "request")
			review["response"] = made
			json.NewEncoder(w).Encode(review)
		})
	}
	answer("/labelling", func(object) object {
		patch := []byte(`[{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]`)
		return object{"allowed": true, "patchType": "JSONPatch", "patch": patch}
	})
	answer("/failing", func(labels object) object {
		message := fmt.Sprintf("seen: %v", labels["seen"])
		return object{"allowed": false, "status": object{"message": message}}
	})
	certificate := tls.Certificate{Certificate: [][]byte{serving.der}, PrivateKey: serving.key}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	must(err)
	go http.Serve(listener, mux)
	return listener.Addr().String()
}

type api struct {
	client *http.Client
	server string
}

func connect(server, directory string) api {
	roots := x509.NewCertPool()
	ca, err := os.ReadFile(filepath.Join(directory, "ca.crt"))
	must(err)
	roots.AppendCertsFromPEM(ca)
	own, err := tls.LoadX509KeyPair(filepath.Join(directory, "client.crt"), filepath.Join(directory, "client.key"))
	must(err)
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}
	return api{&http.Client{Transport: &http.Transport{TLSClientConfig: config}}, server}
}

func (a api) call(method, path string, body interface{}) (int, object) {
	content, err := json.Marshal(body)
	must(err)
	request, err := http.NewRequest(method, a.server+path, bytes.NewReader(content))
	must(err)
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	must(err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	must(err)
	found := object{}
	must(json.Unmarshal(read, &found))
	return response.StatusCode, found
}

func (a api) install(resource, kind, url string, bundle []byte) {
	webhook := object{
		"name":                    "webhook.example.org",
		"clientConfig":            object{"url": url, "caBundle": bundle},
		"sideEffects":             "None",
		"admissionReviewVersions": []string{"v1"},
		"rules": []object{{
			"apiGroups": []string{""}, "apiVersions": []string{"v1"},
			"operations": []string{"CREATE"}, "resources": []string{"configmaps"},
		}},
	}
	status, found := a.call("POST", configurations+resource, object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
		"metadata": object{"name": "installed"}, "webhooks": []object{webhook},
	})
	if status != http.StatusCreated {
		must(fmt.Errorf("%d %v", status, found))
	}
}

func main() {
	server, directory, shape := os.Args[1], os.Args[2], os.Args[3]
	serving, bundle := certificates(shape)
	// envtest joins the host and the path of a service by a slash of its own.
	address := "https://" + serve(serving) + "/"
	a := connect(server, directory)
	a.install("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", address+"/labelling", bundle)
	a.install("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", address+"/failing", bundle)
	status, found := a.call("POST", "/api/v1/namespaces/default/configmaps", object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"generateName": "made-"},
	})
	a.call("DELETE", configurations+"mutatingwebhookconfigurations/installed", object{})
	a.call("DELETE", configurations+"validatingwebhookconfigurations/installed", object{})
	fmt.Println(status, found["message"])
}
