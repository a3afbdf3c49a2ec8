package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"skidway/ops/access"
	"skidway/queue"
)

// hooksPath begins the paths of hooks, which are not below that of the API.
const hooksPath = "/hooks/"

// Bounds of deliveries to hooks, which send a body before it is known who they are.
const (
	deliveryTime      = 10 * time.Second // to send the body
	maxDeliveries     = 40               // that are being received
	maxDeliveriesEach = 10               // of them those of an address
)

// A Delivery has the args of a job that a hook adds.
type Delivery struct {
	Headers map[string]string `json:"headers"` // of the request, with names in small letters
	Body    json.RawMessage   `json:"body"`    // JSON as it was received; any other text as a string
}

// hookHeaders are the headers that a job does not get: they prove who sends, or are of the connection.
var hookHeaders = []string{
	"Authorization", "Proxy-Authorization", "Cookie", "Connection", "Content-Length",
	"Skidway-Signature", "Stripe-Signature", "Webhook-Signature", "X-Hub-Signature", "X-Hub-Signature-256",
}

// deliver adds the job of a request to a hook. A request that is repeated within 24 hours adds nothing.
func (h *Handler) deliver(w http.ResponseWriter, r *http.Request, name string) error {
	hook, known := h.hooks.Lookup(name)
	if !known {
		return problem("not-found", "there is no such hook")
	}
	if r.Method != http.MethodPost {
		p := problem("method-not-allowed", "%.20q is not possible here", r.Method)
		p.Allow = []string{http.MethodPost}
		return p
	}
	leave, ok := h.deliveries.enter(access.AddressFromContext(r.Context()).String(), name)
	if !ok {
		return problem("busy", "too many deliveries arrive: %d are possible, and %d for an address", maxDeliveries, maxDeliveriesEach).retry(time.Second)
	}
	defer leave()
	body, err := readDelivery(w, r, int64(h.config.MaxPayload))
	if err != nil {
		return err
	}
	id, err := hook.Verify(r.Header, body, h.now())
	if err != nil {
		e := access.NewEntry(r.Context(), "hook", hook.Queue)
		e.Who, e.Filter, e.Outcome = "unknown", "hook "+name, err.Error()
		if err := h.audit.Refuse(r.Context(), e); err != nil { // it is in the log
			h.log.Error("the audit has no entry of a delivery that is refused", "error", err)
		}
		return problem("unauthorized", "%v", err)
	}
	args, err := deliveryArgs(r.Header, body, h.config.MaxPayload)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.config.Timeout)
	defer cancel()
	result, err := h.addDelivery(ctx, &hook, queue.NewJob{Args: queue.Raw(hook.Kind, args), Options: queue.Options{
		Queue: hook.Queue, RequestKey: id, RequestDigest: digestOf(string(body)),
	}})
	if err != nil {
		return err
	}
	if result.Repeated {
		w.Header().Set(idempotencyReplayed, "true")
	}
	return writeAnswer(w, http.StatusAccepted, Added{result.ID})
}

// addDelivery adds the job of a delivery.
func (h *Handler) addDelivery(ctx context.Context, hook *access.Hook, job queue.NewJob) (queue.Result, error) {
	if err := hook.Principal().CheckJob(job); err != nil {
		return queue.Result{}, err
	}
	result := h.queues.EnqueueMany(ctx, []queue.NewJob{job})[0]
	return result, sent(result.Err)
}

// readDelivery returns the body of a delivery as it was received.
func readDelivery(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, problem("wrong-type", "the Content-Encoding is %.40q: bodies must not be compressed", encoding)
	}
	tooLarge := problem("too-large", "the body has more than %d bytes", limit)
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(deliveryTime)) // a recorder of a test has none
	body, err := readAll(w, http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, problem("invalid", "the body can't be read: %v", err)
	}
	return body, nil
}

// deliveryArgs returns the args of the job of a delivery, of at most limit bytes.
func deliveryArgs(header http.Header, body []byte, limit int) ([]byte, error) {
	d := Delivery{Headers: map[string]string{}, Body: body}
	for name, values := range header {
		if !slices.Contains(hookHeaders, name) {
			d.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	switch isJSON := mediaType == jsonType || strings.HasSuffix(mediaType, "+json"); {
	case isJSON:
		if err := checkJSON(body, nil); err != nil {
			return nil, err
		}
	case !utf8.Valid(body):
		return nil, problem("invalid", "the body is neither JSON nor text in UTF-8")
	default:
		text, err := json.Marshal(string(body))
		if err != nil {
			return nil, err
		}
		d.Body = text
	}
	var args bytes.Buffer
	encoder := json.NewEncoder(&args)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d); err != nil {
		return nil, err
	}
	if args.Len() > limit {
		return nil, problem("too-large", "headers and body take %d bytes, the limit is %d", args.Len(), limit)
	}
	return bytes.TrimSpace(args.Bytes()), nil
}
