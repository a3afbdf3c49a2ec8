package kinds

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"skidway/workers"
)

// Fetch gets what is at a URL, within the same bounds as the requests of jobs,
// and gives it with its Content-Type. More than limit bytes are an error. A
// handler can return Fetch's errors as they are, also wrapped: those that a
// later try can't mend make the job dead.
func (h *HTTP) Fetch(ctx context.Context, url string, limit int64) (data []byte, contentType string, err error) {
	if err := checkURL("url", url); err != nil {
		return nil, "", workers.Dead(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, "", workers.Dead(wrong("url", "%s", reason(err)))
	}
	request.Header.Set("User-Agent", "skidway")
	response, err := h.client.Do(request)
	if err != nil {
		return nil, "", failure(request, err)
	}
	defer response.Body.Close()
	if !(HTTPArgs{}).expects(response.StatusCode) {
		answer, _ := readResult(response) // it has failed: as much as there is
		return nil, "", refusal(request, response, answer.Body)
	}
	data, err = io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%s: the answer broke off: %w", describe(request), err)
	case int64(len(data)) > limit:
		return nil, "", workers.Dead(fmt.Errorf("%s: the answer has more than %d bytes", describe(request), limit))
	}
	return data, response.Header.Get("Content-Type"), nil
}
