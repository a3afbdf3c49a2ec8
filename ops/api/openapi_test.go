package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"skidway/ops/access"
	"skidway/ops/api"
)

// described is the validator of the document that a handler serves.
var described struct {
	sync.Mutex
	validator validator.Validator
}

// conforms compares a request that was accepted, and every answer, with the document.
func (f *fixture) conforms(r *http.Request, body string, response *http.Response, text string) {
	f.Helper()
	described.Lock()
	defer described.Unlock()
	if described.validator == nil {
		described.validator = f.document()
	}
	const ndjson = "application/x-ndjson" // the validator takes it for one value
	if r.Header.Get("Content-Type") == ndjson || response.Header.Get("Content-Type") == ndjson {
		return
	}
	response.Body = io.NopCloser(strings.NewReader(text))
	if valid, problems := described.validator.ValidateHttpResponse(r, response); !valid {
		f.Errorf("%s %s: the answer is not as described: %v: %s", r.Method, r.URL, problems, text)
	}
	r.Body = io.NopCloser(strings.NewReader(body))
	if response.StatusCode >= 300 {
		return
	}
	r.Header.Set("Authorization", "Bearer x")
	if valid, problems := described.validator.ValidateHttpRequestSync(r); !valid {
		f.Errorf("%s %s: the request is not as described: %v: %s", r.Method, r.URL, problems, body)
	}
}

// document returns the validator of the document.
func (f *fixture) document() validator.Validator {
	f.Helper()
	r := httptest.NewRequest("GET", "/api/v1/openapi.json", nil)
	recorder := httptest.NewRecorder()
	f.handler.ServeHTTP(recorder, r.WithContext(access.NewContext(f.Context(), &access.Principal{})))
	document, err := libopenapi.NewDocument(recorder.Body.Bytes())
	f.must(err)
	v, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		f.Fatal(errs)
	}
	return v
}

func TestDocumentIsValidAndHasEveryRoute(t *testing.T) {
	t.Parallel()
	f := setup(t)
	if valid, problems := f.document().ValidateDocument(); !valid {
		t.Errorf("%v", problems)
	}
	text := f.as("scale:nothing").do("GET", "/openapi.json", nil, 200).text
	var document struct {
		Paths map[string]map[string]struct{ OperationID, Summary string }
	}
	f.must(json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&document))
	ids := map[string]bool{}
	for _, row := range api.Rows() {
		operation := document.Paths[strings.TrimPrefix(row.Path, "/api/v1")][strings.ToLower(row.Method)]
		if operation.Summary == "" || ids[operation.OperationID] {
			t.Errorf("%s %s: %+v", row.Method, row.Path, operation)
		}
		ids[operation.OperationID] = true
	}
}
