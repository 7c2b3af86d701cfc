package payorders

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const testSecret = "whsec_of_a_test"

func signedTest(t *testing.T) ([]byte, http.Header) {
	t.Helper()
	event := Event{Type: EventOrderCompleted, Data: EventData{Order: Order{Amount: 49950, Description: "<परीक्षण> & more"}}}
	body, header, err := SignTestEvent(event, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	return body, header
}

func serve(handler http.Handler, body string, header http.Header) (int, string) {
	request := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(body))
	request.Header = header
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response.Code, response.Body.String()
}

func TestWhatFailedIsHandledAgainAndWhatSucceededIsNot(t *testing.T) {
	body, header := signedTest(t)
	calls, reported := 0, 0
	handler := Handler(HandlerOptions{
		Secrets: []string{"whsec_old", testSecret},
		Store:   NewMemoryStore(0),
		OnEvent: func(_ context.Context, event *Event) error {
			if calls++; calls == 1 {
				return errors.New("the database is away")
			}
			if event.Data.Amount != 49950 || event.Environment != EnvironmentSandbox {
				t.Error(event)
			}
			return nil
		},
		OnError: func(error) { reported++ },
	})
	for _, want := range []int{500, 200, 200} {
		if status, _ := serve(handler, string(body), header); status != want {
			t.Fatal(status, want)
		}
	}
	if status, text := serve(handler, string(body)+" ", header); status != 401 || text != "reserialised" {
		t.Fatal(status, text)
	}
	if status, _ := serve(handler, strings.Repeat(" ", mostWebhookBytes+1), header); status != 413 {
		t.Fatal(status)
	}
	if calls != 2 || reported != 3 {
		t.Fatal(calls, reported)
	}
}

func TestARepeatAtTheSameMomentWaitsForTheFirst(t *testing.T) {
	body, header := signedTest(t)
	var calls atomic.Int32
	begun, mayEnd := make(chan struct{}), make(chan struct{})
	handler := Handler(HandlerOptions{
		Secrets: []string{testSecret},
		Store:   NewMemoryStore(0),
		OnEvent: func(context.Context, *Event) error {
			if calls.Add(1) == 1 {
				close(begun)
			}
			<-mayEnd
			return nil
		},
	})
	var group sync.WaitGroup
	send := func() {
		group.Add(1)
		go func() {
			defer group.Done()
			if status, _ := serve(handler, string(body), header); status != 200 {
				t.Error(status)
			}
		}()
	}
	send()
	<-begun
	for range 4 {
		send()
	}
	close(mayEnd)
	group.Wait()
	if calls.Load() != 1 {
		t.Fatal(calls.Load())
	}
}

func TestAnEmptySecretNeverFits(t *testing.T) {
	body, header, err := SignTestEvent(Event{Type: EventTest}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, secrets := range [][]string{{""}, {testSecret, ""}, nil} {
		if _, err := Verify(body, header, secrets...); err == nil {
			t.Fatal("an empty secret fits")
		}
	}
}

func TestAHostileBodyIsAWrongSecret(t *testing.T) {
	_, header := signedTest(t)
	bodies := []string{"\xff\xfe", strings.Repeat("[", 100_000), strings.Repeat("9", 10_000), "1e999", `"\ud800"`, "", "]}", `{"a":1,}`}
	for _, body := range bodies {
		if _, err := Verify([]byte(body), header, testSecret); mistakeOf(err) != MistakeWrongSecret {
			t.Errorf("%.20q: %v", body, err)
		}
	}
}

func TestALargeBodyWithoutAValidSignatureIsNotParsed(t *testing.T) {
	event := Event{Type: EventOrderCompleted, Data: EventData{Order: Order{Description: strings.Repeat("a", 70_000)}}}
	body, header, err := SignTestEvent(event, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(append(body, ' '), header, testSecret); mistakeOf(err) != MistakeWrongSecret {
		t.Fatal(err)
	}
}

func TestCompactIsWhatTheServiceWrites(t *testing.T) {
	spaced := "{ \"b\" : [ 1.50, -2.0, true, null, {} ],\n \"a\": \"<&\\/\\u092a\\u0022>\", \"c\": {\"d\": []} }"
	want := `{"b":[1.5,-2,true,null,{}],"a":"<&/प\">","c":{"d":[]}}`
	if got := string(compact([]byte(spaced))); got != want {
		t.Fatal(got)
	}
}

func TestAMemoryStoreForgetsTheOldest(t *testing.T) {
	store, ctx := NewMemoryStore(2), context.Background()
	for _, eventID := range []string{"a", "b", "b", "c"} {
		_ = store.Add(ctx, eventID)
	}
	for eventID, want := range map[string]bool{"a": false, "b": true, "c": true} {
		if known, _ := store.Has(ctx, eventID); known != want {
			t.Error(eventID, known)
		}
	}
}
