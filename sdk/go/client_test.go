package payorders

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func codeOf(err error) string {
	var wrong *Error
	if errors.As(err, &wrong) {
		return wrong.Code
	}
	return ""
}

// sent is a request that the service of a test got.
type sent struct {
	key, uri, body string
}

// service gives one answer after the other, and keeps the requests. A status of 0 loses the connection.
type service struct {
	answers []answer
	sent    []sent
	waits   []time.Duration
}

type answer struct {
	status  int
	headers map[string]string
	data    string
	// page replaces the JSON.
	page string
}

// RoundTrip plays the service.
func (one *service) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	one.sent = append(one.sent, sent{request.Header.Get("Idempotency-Key"), request.URL.RequestURI(), string(body)})
	next := one.answers[0]
	one.answers = one.answers[1:]
	if next.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	response := httptest.NewRecorder()
	for name, value := range next.headers {
		response.Header().Set(name, value)
	}
	response.WriteHeader(next.status)
	text := next.page
	if text == "" {
		text = `{"success":true,"message":"ok","data":` + next.data + `}`
	}
	_, err = io.WriteString(response, text)
	return response.Result(), err
}

// start gives a service and its client.
func start(t *testing.T, answers ...answer) (*service, *Client) {
	t.Helper()
	one := &service{answers: answers}
	client, err := New(Options{
		Environment: EnvironmentSandbox,
		APIKey:      "mk_test_a",
		APISecret:   "sk_test_a",
		BaseURL:     "http://service.example/",
		HTTPClient:  &http.Client{Transport: one},
		Sleep: func(_ context.Context, wait time.Duration) error {
			one.waits = append(one.waits, wait)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return one, client
}

func shown(data string) answer { return answer{status: 200, data: data} }

func failing(status int) answer { return answer{status: status, data: "null"} }

func TestAllAttemptsOfOneCallHaveOneKeyAndTheSameBody(t *testing.T) {
	service, client := start(t, answer{}, failing(500), shown(`{"amount":499.5,"dispute":null}`))
	amount, _ := ParseAmount("499.50")
	order, err := client.Orders.Create(context.Background(), CreateOrder{Amount: amount, BuyerEmail: "asha@example.com"})
	if err != nil || order.Amount != 49950 {
		t.Fatal(order, err)
	}
	first := service.sent[0]
	if len(service.sent) != 3 || first.key == "" || service.sent[1] != first || service.sent[2] != first {
		t.Fatal(service.sent)
	}
	want := `{"amount":499.5,"buyerEmail":"asha@example.com","buyerPhone":"","description":""}`
	if first.uri != "/sandbox/api/merchant/v1/orders" || first.body != want {
		t.Fatal(first)
	}
}

func TestItWaitsAsLongAsTheServiceAsks(t *testing.T) {
	busy := answer{status: 429, headers: map[string]string{"Retry-After": "30"}, data: "null"}
	service, client := start(t, failing(502), busy, shown(`{}`))
	if _, err := client.Orders.Get(context.Background(), "ORD1"); err != nil {
		t.Fatal(err)
	}
	if len(service.waits) != 2 || service.waits[0] > time.Second || service.waits[1] != 30*time.Second {
		t.Fatal(service.waits)
	}
}

func TestWhatCannotSucceedIsSentOnceAndWhatCanFiveTimes(t *testing.T) {
	cases := []struct {
		status   int
		code     string
		attempts int
	}{{404, "HTTP_404", 1}, {302, "HTTP_302", 1}, {502, "HTTP_502", 5}, {0, CodeNoResponse, 5}}
	for _, one := range cases {
		service, client := start(t, slices.Repeat([]answer{failing(one.status)}, 5)...)
		_, err := client.Orders.Get(context.Background(), "ORD1")
		if codeOf(err) != one.code || len(service.sent) != one.attempts {
			t.Error(one, err, len(service.sent))
		}
	}
}

func TestNothingIsSentAgainAfterTheContextHasEnded(t *testing.T) {
	service, client := start(t, failing(502))
	ctx, cancel := context.WithCancel(context.Background())
	client.Orders.way.sleep = func(ctx context.Context, _ time.Duration) error {
		cancel()
		return sleepFor(ctx, time.Hour)
	}
	_, err := client.Orders.Get(ctx, "ORD1")
	if !errors.Is(err, context.Canceled) || len(service.sent) != 1 {
		t.Fatal(err, service.sent)
	}
}

func TestAKeyWithAnotherBodyIsAnError(t *testing.T) {
	replayed := answer{status: 201, headers: map[string]string{"Idempotency-Key-Mismatch": "true"}, data: "{}"}
	service, client := start(t, replayed)
	_, err := client.Orders.Create(context.Background(), CreateOrder{Amount: 500}, IdempotencyKey("k"))
	if codeOf(err) != CodeIdempotencyKeyMismatch || service.sent[0].key != "k" {
		t.Fatal(err, service.sent)
	}
}

func TestWhatAProxyAnswersIsSentAgainWithTheSameKey(t *testing.T) {
	service, client := start(t, failing(503), answer{status: 200, page: "<h1>Sorry</h1>"}, failing(504), shown(`{}`))
	order, err := client.Orders.Create(context.Background(), CreateOrder{Amount: 500})
	if err != nil || order.Replayed || len(service.sent) != 4 {
		t.Fatal(order, err, service.sent)
	}
	for _, one := range service.sent {
		if one != service.sent[0] {
			t.Fatal(service.sent)
		}
	}
}

func TestAPageOfAProxyInsteadOfAnEmptyResultIsAnError(t *testing.T) {
	page := answer{status: 200, page: "<h1>Sorry</h1>"}
	service, client := start(t, slices.Repeat([]answer{page}, 5)...)
	err := client.Sandbox().FailAfterWork(context.Background())
	if codeOf(err) != "HTTP_200" || len(service.sent) != 5 {
		t.Fatal(err, len(service.sent))
	}
}

func TestAReplayIsVisible(t *testing.T) {
	replayed := answer{status: 201, headers: map[string]string{"Idempotent-Replayed": "true"}, data: `{"status":"CANCELLED"}`}
	_, client := start(t, replayed)
	order, err := client.Orders.Create(context.Background(), CreateOrder{Amount: 500}, IdempotencyKey("k"))
	if err != nil || !order.Replayed || order.Status != "CANCELLED" {
		t.Fatal(order, err)
	}
}

func TestAMalformedIdempotencyKeyIsRefusedBeforeARequest(t *testing.T) {
	service, client := start(t)
	for _, key := range []string{"", "a b", "k\n", "की", strings.Repeat("k", 256)} {
		_, err := client.Orders.Create(context.Background(), CreateOrder{Amount: 500}, IdempotencyKey(key))
		if codeOf(err) != CodeMalformedIdempotencyKey || len(service.sent) != 0 {
			t.Error(key, err)
		}
	}
}

// quoting fails as a connection that quotes a header.
type quoting struct{}

func (quoting) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, errors.New("invalid header value " + request.Header.Get("X-API-Secret") + request.Header.Get("X-API-Key"))
}

func TestNoErrorHasTheKeys(t *testing.T) {
	_, client := start(t)
	way := client.Orders.way
	way.http, way.maxRetries = &http.Client{Transport: quoting{}}, 0
	_, err := client.Orders.Get(context.Background(), "ORD1")
	if codeOf(err) != CodeNoResponse || errors.Unwrap(err) != nil || strings.Contains(err.Error(), "_test_a") {
		t.Fatal(err)
	}
}

func TestBaseURLs(t *testing.T) {
	for _, text := range []string{"https://pay.example.com", "https://pay.example.com/", "http://127.0.0.1:8080", "http://[::1]/a"} {
		if base, err := baseOf(text, EnvironmentProduction); err != nil || !strings.HasSuffix(base, "/api/merchant/v1") {
			t.Error(text, base, err)
		}
	}
	refused := []string{
		"pay.example.com", "", "https://", "https://pay.example.com\n", " https://pay.example.com", "ftp://pay.example.com",
		"https://pay.example.com:port", "https://user:word@pay.example.com", "https://pay.example.com?",
		"https://pay.example.com/#a", "https://pay.example.com/api/merchant/v1", "http://pay.example.com",
	}
	for _, text := range refused {
		if _, err := baseOf(text, EnvironmentProduction); err == nil || err.Code != CodeMalformedBaseURL {
			t.Error(text, err)
		}
	}
	if _, err := baseOf("http://pay.example.com", EnvironmentSandbox); err != nil {
		t.Error(err)
	}
}

func TestAListIsReadToItsEnd(t *testing.T) {
	service, client := start(t,
		shown(`{"content":[{"order_number":"1"}],"next":"a"}`),
		shown(`{"content":[],"next":"b"}`),
		shown(`{"content":[{"order_number":"2"}],"next":null}`),
	)
	var found []string
	for order, err := range client.Orders.List(OrderFilter{Status: StatusPaid, Size: 1}).All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, order.OrderNumber)
	}
	if !reflect.DeepEqual(found, []string{"1", "2"}) {
		t.Fatal(found)
	}
	if last := service.sent[2].uri; last != "/sandbox/api/merchant/v1/orders?after=b&size=1&status=PAID" {
		t.Fatal(last)
	}
}

func TestAnErrorEndsAList(t *testing.T) {
	_, client := start(t, shown(`{"content":[{"event_id":"1"}],"next":"a"}`), failing(404))
	count, failures := 0, 0
	for _, err := range client.Events.List(EventFilter{}).All(context.Background()) {
		if err == nil {
			count++
		} else if codeOf(err) == "HTTP_404" {
			failures++
		}
	}
	if count != 1 || failures != 1 {
		t.Fatal(count, failures)
	}
}

func TestAnOrderNumberStaysOnePartOfThePath(t *testing.T) {
	service, client := start(t, shown(`{}`))
	if _, err := client.Orders.Get(context.Background(), "../events?x"); err != nil {
		t.Fatal(err)
	}
	if uri := service.sent[0].uri; uri != "/sandbox/api/merchant/v1/orders/..%2Fevents%3Fx" {
		t.Fatal(uri)
	}
}

func TestTestHelpersAreRefusedForProductionBeforeARequest(t *testing.T) {
	live := Options{Environment: EnvironmentProduction, APIKey: "mk_live_a", APISecret: "sk_live_a", BaseURL: "http://127.0.0.1:1"}
	client, err := New(live)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Sandbox().Pay(context.Background(), "ORD1")
	if codeOf(err) != CodeWrongEnvironment || codeOf(client.Sandbox().FailAfterWork(context.Background())) != CodeWrongEnvironment {
		t.Fatal(err)
	}
}

func TestAnAmountThatIsNoneIsNotSent(t *testing.T) {
	service, client := start(t)
	if _, err := client.Orders.Create(context.Background(), CreateOrder{Amount: -1}); err == nil || len(service.sent) != 0 {
		t.Fatal(err, service.sent)
	}
	var order Order
	if err := json.Unmarshal([]byte(`{"amount":499.505}`), &order); err == nil {
		t.Fatal(order)
	}
}
