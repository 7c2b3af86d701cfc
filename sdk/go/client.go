package payorders

import (
	"context"
	"net/http"
	"time"
)

// Environment is where a request belongs. The prefix of the key says the same.
type Environment string

// The two environments.
const (
	EnvironmentSandbox    Environment = "sandbox"
	EnvironmentProduction Environment = "production"
)

// Options say how a client reaches the service.
type Options struct {
	// Environment refuses keys of the other one before the first request.
	Environment Environment
	// APIKey is mk_test_… or mk_live_….
	APIKey string
	// APISecret is sk_test_… or sk_live_….
	APISecret string
	// BaseURL is such as https://pay.example.com, without the base path.
	BaseURL string
	// MaxRetries is how often a request is sent again after no response, 429, 500, 502, 503 or 504: 4 if 0, never if negative.
	MaxRetries int
	// HTTPClient replaces the connections, such as by some with a proxy. If nil, an attempt may take 30 s.
	HTTPClient *http.Client
	// Sleep replaces the wait between attempts, for tests.
	Sleep func(context.Context, time.Duration) error
}

// Client is a client of one merchant in one environment. Goroutines may share it.
type Client struct {
	Orders     *Orders
	Disputes   *Disputes
	Events     *Events
	Statements *Statements

	sandbox *Sandbox
}

const (
	defaultRetries = 4
	defaultTimeout = 30 * time.Second
)

// httpClientOf does not follow redirects: they would carry the credentials elsewhere.
func httpClientOf(given *http.Client) *http.Client {
	client := http.Client{Timeout: defaultTimeout}
	if given != nil {
		client = *given
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// New makes a client. Its errors are *Error with CodeMalformedCredentials, CodeMalformedBaseURL, or
// CodeWrongEnvironment for keys of the other environment.
func New(options Options) (*Client, error) {
	if err := assertKeys(options); err != nil {
		return nil, err
	}
	base, err := baseOf(options.BaseURL, options.Environment)
	if err != nil {
		return nil, err
	}
	way := &transport{
		base:       base,
		apiKey:     options.APIKey,
		apiSecret:  options.APISecret,
		maxRetries: options.MaxRetries,
		http:       httpClientOf(options.HTTPClient),
		sleep:      options.Sleep,
	}
	if way.maxRetries == 0 {
		way.maxRetries = defaultRetries
	}
	if way.sleep == nil {
		way.sleep = sleepFor
	}
	client := &Client{
		Orders:     &Orders{way},
		Disputes:   &Disputes{way},
		Events:     &Events{way},
		Statements: &Statements{way},
	}
	if options.Environment == EnvironmentSandbox {
		client.sandbox = &Sandbox{way}
	}
	return client, nil
}

// Sandbox has the test helpers. In production, each of them returns an *Error with CodeWrongEnvironment.
func (client *Client) Sandbox() *Sandbox { return client.sandbox }
