package payorders

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Codes of errors that this client finds itself. All others are the words of X-Error-Code.
const (
	// CodeNoResponse: no attempt got a response.
	CodeNoResponse = "NO_RESPONSE"
	// CodeIdempotencyKeyMismatch: the key was used with another body, whose result stands.
	CodeIdempotencyKeyMismatch = "IDEMPOTENCY_KEY_MISMATCH"
	// CodeWrongEnvironment: the keys are those of the other environment, or a test helper was used in production.
	CodeWrongEnvironment = "WRONG_ENVIRONMENT"
	// CodeMalformedCredentials: a key or secret is empty, or has what none has, such as a line break at its end.
	CodeMalformedCredentials = "MALFORMED_CREDENTIALS"
	// CodeMalformedBaseURL: the base URL is none, or has more than https, a host and a path before the base path.
	CodeMalformedBaseURL = "MALFORMED_BASE_URL"
	// CodeMalformedIdempotencyKey: the key does not have 1 to 255 visible ASCII characters.
	CodeMalformedIdempotencyKey = "MALFORMED_IDEMPOTENCY_KEY"
)

// Error is every error of the client. Use it with errors.As.
type Error struct {
	Message string
	// Status is the HTTP status; 0 if there was no response.
	Status int
	// Code is the word of X-Error-Code, such as INVALID_STATE, or one of the constants.
	Code string
	// Fields has the violation of each invalid field.
	Fields map[string]string
	// RequestID is for the operator of the service.
	RequestID string
	// IsRetryable says whether the same request may succeed later. The client has already retried it.
	IsRetryable bool

	cause error
}

func (err *Error) Error() string { return "payorders: " + err.Message }

// Unwrap is the cause of an error without a response.
func (err *Error) Unwrap() error { return err.cause }

// isRetryable names the statuses after which the same request may succeed. Source: the specification; 503 and 504 are
// those of proxies, and so is a success without JSON.
func isRetryable(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return status/100 == 2
}

// errorOf is the error of a response, whose body may be any of the three that the service has, or none.
func errorOf(status int, header http.Header, body []byte) *Error {
	var parsed struct {
		Message          any            `json:"message"`
		Error            any            `json:"error"`
		ValidationErrors map[string]any `json:"validationErrors"`
	}
	_ = json.Unmarshal(body, &parsed)
	text := fmt.Sprintf("The service answered %d", status)
	for _, one := range []any{parsed.Error, parsed.Message} {
		if given, isText := one.(string); isText {
			text = given
		}
	}
	fields, violations := map[string]string{}, []string{}
	for name, violation := range parsed.ValidationErrors {
		fields[name] = fmt.Sprint(violation)
		violations = append(violations, name+" "+fields[name])
	}
	if len(violations) > 0 {
		slices.Sort(violations)
		text += ": " + strings.Join(violations, ", ")
	}
	code := header.Get("X-Error-Code")
	if code == "" {
		code = fmt.Sprintf("HTTP_%d", status)
	}
	return &Error{
		Message:     text,
		Status:      status,
		Code:        code,
		Fields:      fields,
		RequestID:   header.Get("X-Request-Id"),
		IsRetryable: isRetryable(status),
	}
}
