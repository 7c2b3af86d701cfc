package payorders

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

var (
	// around is what texts are often pasted with: white space, invisible characters and quotes.
	around          = regexp.MustCompile("^[\\s\\p{Z}\u0085\u200b-\u200d\u2060\ufeff\"'`“”‘’]|[\\s\\p{Z}\u0085\u200b-\u200d\u2060\ufeff\"'`“”‘’]$")
	keyForm         = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	urlForm         = regexp.MustCompile(`^https?://[^\s\p{Z}]+$`)
	loopback        = regexp.MustCompile(`^(localhost|127\.[0-9.]+|::1)$`)
	idempotencyForm = regexp.MustCompile(`^[!-~]{1,255}$`)
)

var basePaths = map[Environment]string{
	EnvironmentSandbox:    "/sandbox/api/merchant/v1",
	EnvironmentProduction: "/api/merchant/v1",
}

var keyPrefixes = map[Environment][2]string{
	EnvironmentSandbox:    {"mk_test_", "sk_test_"},
	EnvironmentProduction: {"mk_live_", "sk_live_"},
}

// faultOfKey is what is wrong with the form of a key or a secret, without the text; empty if nothing is.
func faultOfKey(text string) string {
	switch {
	case text == "":
		return "is empty"
	case strings.HasSuffix(text, "\n"), strings.HasSuffix(text, "\r"):
		return "ends with a line break"
	case around.MatchString(text):
		return "has white space or quotes around it"
	case !keyForm.MatchString(text):
		return "has a character that none of its kind has"
	}
	return ""
}

// assertKeys never names the keys themselves.
func assertKeys(options Options) *Error {
	prefixes, known := keyPrefixes[options.Environment]
	if !known {
		return refusal(CodeWrongEnvironment, fmt.Sprintf("%q is no environment", options.Environment))
	}
	named := []struct{ name, text, prefix string }{
		{"API key", options.APIKey, prefixes[0]},
		{"API secret", options.APISecret, prefixes[1]},
	}
	var malformed, wrong []string
	for _, one := range named {
		if fault := faultOfKey(one.text); fault != "" {
			malformed = append(malformed, "the "+one.name+" "+fault)
		}
		if !strings.HasPrefix(one.text, one.prefix) {
			wrong = append(wrong, "the "+one.name+" does not begin with "+one.prefix)
		}
	}
	if malformed != nil {
		return refusal(CodeMalformedCredentials, strings.Join(malformed, ", "))
	}
	if wrong != nil {
		message := fmt.Sprintf("These are no credentials of the %s: %s", options.Environment, strings.Join(wrong, ", "))
		return refusal(CodeWrongEnvironment, message)
	}
	return nil
}

func faultOfURL(text string, environment Environment) string {
	parsed, err := url.Parse(text)
	if err != nil || !urlForm.MatchString(text) || parsed.Hostname() == "" || !isPort(parsed.Port()) {
		return "must begin with https:// and a host"
	}
	isSafe := parsed.Scheme == "https" || loopback.MatchString(parsed.Hostname())
	switch {
	case parsed.User != nil:
		return "must not contain a user or password"
	case strings.ContainsAny(text, "?#"):
		return "must not contain a query or fragment"
	case strings.Contains(parsed.Path+"/", "/api/merchant/"):
		return "must not contain the base path of the API"
	case environment == EnvironmentProduction && !isSafe:
		return "must be https in production"
	}
	return ""
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil
}

// baseOf is the URL before every path.
func baseOf(baseURL string, environment Environment) (string, *Error) {
	if fault := faultOfURL(baseURL, environment); fault != "" {
		return "", refusal(CodeMalformedBaseURL, "The base URL "+fault)
	}
	return strings.TrimRight(baseURL, "/") + basePaths[environment], nil
}

func assertIdempotencyKey(key string) *Error {
	if idempotencyForm.MatchString(key) {
		return nil
	}
	return refusal(CodeMalformedIdempotencyKey, "An idempotency key has 1 to 255 visible ASCII characters")
}

// refusal is an error that cost no request.
func refusal(code, message string) *Error { return &Error{Message: message, Code: code} }
