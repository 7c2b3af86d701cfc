package payorders

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// mostAnswerBytes is more than any answer of the service.
const mostAnswerBytes = 16 << 20

// CallOption is what a caller may choose for one call that changes something.
type CallOption func(*call)

// IdempotencyKey makes two calls with one key one command. Without it, each call has a new key.
func IdempotencyKey(key string) CallOption {
	return func(one *call) { one.key = key }
}

// call is one call of the API.
type call struct {
	method string
	// path is below the base path.
	path  string
	query url.Values
	body  any
	key   string
	// isReplayed is where to say whether an earlier call with the key has the result; nil if the caller does not ask.
	isReplayed *bool
}

func get(path string, query url.Values) call {
	return call{method: http.MethodGet, path: path, query: query}
}

func post(path string, body any, options []CallOption) call {
	one := call{method: http.MethodPost, path: path, body: body, key: randomText()}
	for _, choose := range options {
		choose(&one)
	}
	return one
}

// randomText has 128 random bits.
func randomText() string {
	var random [16]byte
	// It never fails: see crypto/rand.
	_, _ = rand.Read(random[:])
	return fmt.Sprintf("%x", random)
}

// transport sends the calls of a client.
type transport struct {
	base       string
	apiKey     string
	apiSecret  string
	maxRetries int
	http       *http.Client
	sleep      func(context.Context, time.Duration) error
}

// mostDelay is the longest wait, whatever a proxy asks for: the caller waits, too.
const mostDelay = time.Minute

var wholeSeconds = regexp.MustCompile(`^[0-9]+$`)

// askedDelay is what Retry-After asks for: seconds or a date; 0 without it.
func askedDelay(retryAfter string) time.Duration {
	if wholeSeconds.MatchString(retryAfter) {
		seconds, err := strconv.ParseUint(retryAfter, 10, 30)
		if err != nil {
			return mostDelay
		}
		return time.Duration(seconds) * time.Second
	}
	moment, err := http.ParseTime(retryAfter)
	if err != nil {
		return 0
	}
	return time.Until(moment)
}

// retryDelay is the wait before a retry: 1, 2, 4, 8 s, less up to a quarter, or what the service asks for, at most a minute.
// The first retry is 0; draw gives a number from 0 to 1.
func retryDelay(retry int, retryAfter string, draw func() float64) time.Duration {
	own := float64(time.Second) * float64(int(1)<<min(retry, 3)) * (1 - draw()/4)
	return min(mostDelay, max(askedDelay(retryAfter), time.Duration(own)))
}

func sleepFor(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noResponse is the error of an attempt without a response. No key and no secret is part of it.
func (way *transport) noResponse(cause error, retryable bool) *Error {
	text := cause.Error()
	shown := strings.NewReplacer(way.apiKey, "[hidden]", way.apiSecret, "[hidden]").Replace(text)
	failed := &Error{Message: "The service did not answer: " + shown, Code: CodeNoResponse, IsRetryable: retryable}
	// An error that quotes a header is not kept as the cause.
	if shown == text {
		failed.cause = cause
	}
	return failed
}

// send sends a call until it succeeds, cannot succeed or was tried often enough, and reads its data into result.
// A call that changes something has one idempotency key for all of its attempts.
func (way *transport) send(ctx context.Context, one call, result any) error {
	if one.method == http.MethodPost {
		if err := assertIdempotencyKey(one.key); err != nil {
			return err
		}
	}
	var body []byte
	if one.body != nil {
		encoded, err := json.Marshal(one.body)
		if err != nil {
			return err
		}
		body = encoded
	}
	for retry := 0; ; retry++ {
		retryAfter, failed := way.attempt(ctx, one, body, result)
		if failed == nil {
			return nil
		}
		if !failed.IsRetryable || retry >= way.maxRetries || ctx.Err() != nil {
			return failed
		}
		if err := way.sleep(ctx, retryDelay(retry, retryAfter, mathrand.Float64)); err != nil {
			failed.cause = err
			return failed
		}
	}
}

// result is the data of a call's answer.
func result[Data any](ctx context.Context, way *transport, one call) (Data, error) {
	var data Data
	err := way.send(ctx, one, &data)
	return data, err
}

func (way *transport) requestOf(ctx context.Context, one call, body []byte) (*http.Request, error) {
	address := way.base + one.path
	if query := one.query.Encode(); query != "" {
		address += "?" + query
	}
	request, err := http.NewRequestWithContext(ctx, one.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-API-Key", way.apiKey)
	request.Header.Set("X-API-Secret", way.apiSecret)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if one.key != "" {
		request.Header.Set("Idempotency-Key", one.key)
	}
	return request, nil
}

// attempt sends a call once. It returns the Retry-After of an answer that is an error.
func (way *transport) attempt(ctx context.Context, one call, body []byte, result any) (string, *Error) {
	request, err := way.requestOf(ctx, one, body)
	if err != nil {
		return "", way.noResponse(err, false)
	}
	response, err := way.http.Do(request)
	if err != nil {
		return "", way.noResponse(err, true)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, mostAnswerBytes))
	if err != nil {
		return "", way.noResponse(err, true)
	}
	if response.StatusCode/100 != 2 || !isObject(answer) {
		return response.Header.Get("Retry-After"), errorOf(response.StatusCode, response.Header, answer)
	}
	if one.isReplayed != nil {
		*one.isReplayed = response.Header.Get("Idempotent-Replayed") == "true"
	}
	return "", readResult(response, answer, result)
}

// isObject says whether an answer is JSON as the service's; that of a proxy is not.
func isObject(answer []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(answer, " \t\r\n"), []byte("{")) && json.Valid(answer)
}

func readResult(response *http.Response, answer []byte, result any) *Error {
	failed := func(message, code string) *Error {
		requestID := response.Header.Get("X-Request-Id")
		return &Error{Message: message, Status: response.StatusCode, Code: code, RequestID: requestID}
	}
	if response.Header.Get("Idempotency-Key-Mismatch") == "true" {
		message := "The idempotency key was used before with another body, whose result stands"
		return failed(message, CodeIdempotencyKeyMismatch)
	}
	if result == nil {
		return nil
	}
	envelope := struct {
		Data any `json:"data"`
	}{result}
	if err := json.Unmarshal(answer, &envelope); err != nil {
		wrong := failed("The answer is not what was expected: "+err.Error(), fmt.Sprintf("HTTP_%d", response.StatusCode))
		wrong.cause = err
		return wrong
	}
	return nil
}

// segment escapes a text as one part of a path.
func segment(text string) string { return url.PathEscape(text) }
