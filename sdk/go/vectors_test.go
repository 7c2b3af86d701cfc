package payorders

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// vectors is what every SDK and the service agree on.
type vectors struct {
	Webhooks []struct {
		Name       string
		Secrets    []string
		Headers    map[string]string
		Body       string
		NowSeconds int64
		Expect     struct {
			EventID string
			Mistake Mistake
		}
	}
	Money []struct {
		Rupees string
		Paise  *int64
	}
	RetryDelays []struct {
		Retry      int
		RetryAfter string
		LeastMs    int64
		MostMs     int64
	}
	Errors []struct {
		Name    string
		Status  int
		Headers map[string]string
		Body    string
		Expect  struct {
			Code        string
			Fields      map[string]string
			RequestID   string
			IsRetryable bool
		}
	}
	Keys []struct {
		Environment Environment
		APIKey      string
		APISecret   string
		IsAccepted  bool
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("../test-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var read vectors
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Webhooks) == 0 || len(read.Money) == 0 || len(read.RetryDelays) == 0 || len(read.Errors) == 0 || len(read.Keys) == 0 {
		t.Fatal("vectors are missing")
	}
	return read
}

func headerOf(given map[string]string) http.Header {
	header := http.Header{}
	for name, value := range given {
		header.Set(name, value)
	}
	return header
}

func mistakeOf(err error) Mistake {
	var wrong *VerificationError
	if errors.As(err, &wrong) {
		return wrong.Mistake
	}
	return ""
}

func TestWebhookVectors(t *testing.T) {
	for _, vector := range readVectors(t).Webhooks {
		t.Run(vector.Name, func(t *testing.T) {
			now := time.Unix(vector.NowSeconds, 0)
			event, err := VerifyAt(now, []byte(vector.Body), headerOf(vector.Headers), vector.Secrets...)
			if mistakeOf(err) != vector.Expect.Mistake {
				t.Fatalf("%v, not %q", err, vector.Expect.Mistake)
			}
			if vector.Expect.Mistake == "" && (err != nil || event.EventID != vector.Expect.EventID || event.Data.Amount != 49950) {
				t.Fatal(event, err)
			}
		})
	}
}

func TestMoneyVectors(t *testing.T) {
	for _, vector := range readVectors(t).Money {
		t.Run(vector.Rupees, func(t *testing.T) {
			amount, err := ParseAmount(vector.Rupees)
			var ofJSON Amount
			errOfJSON := json.Unmarshal([]byte(vector.Rupees), &ofJSON)
			if vector.Paise == nil {
				if err == nil || errOfJSON == nil {
					t.Fatal("is no amount, but was read")
				}
				return
			}
			if err != nil || errOfJSON != nil || amount != Amount(*vector.Paise) || ofJSON != amount {
				t.Fatal(amount, err, ofJSON, errOfJSON)
			}
			written, err := json.Marshal(amount)
			again, errAgain := ParseAmount(string(written))
			if shown, err := ParseAmount(amount.String()); err != nil || shown != amount {
				t.Fatal(amount, err)
			}
			if err != nil || errAgain != nil || again != amount {
				t.Fatal(string(written), err, again, errAgain)
			}
		})
	}
}

func TestRetryDelayVectors(t *testing.T) {
	for _, vector := range readVectors(t).RetryDelays {
		least := retryDelay(vector.Retry, vector.RetryAfter, func() float64 { return 1 })
		most := retryDelay(vector.Retry, vector.RetryAfter, func() float64 { return 0 })
		if least.Milliseconds() != vector.LeastMs || most.Milliseconds() != vector.MostMs {
			t.Error(vector, least, most)
		}
	}
}

func TestErrorVectors(t *testing.T) {
	for _, vector := range readVectors(t).Errors {
		t.Run(vector.Name, func(t *testing.T) {
			err := errorOf(vector.Status, headerOf(vector.Headers), []byte(vector.Body))
			want := vector.Expect
			if err.Code != want.Code || err.RequestID != want.RequestID || err.IsRetryable != want.IsRetryable {
				t.Fatalf("%+v", err)
			}
			if !reflect.DeepEqual(err.Fields, want.Fields) || err.Status != vector.Status || err.Message == "" {
				t.Fatalf("%+v", err)
			}
		})
	}
}

func TestKeyVectors(t *testing.T) {
	for _, vector := range readVectors(t).Keys {
		options := Options{Environment: vector.Environment, APIKey: vector.APIKey, APISecret: vector.APISecret}
		options.BaseURL = "https://pay.example.com"
		_, err := New(options)
		code := ""
		if !vector.IsAccepted {
			code = CodeWrongEnvironment
		}
		if faultOfKey(vector.APIKey)+faultOfKey(vector.APISecret) != "" {
			code = CodeMalformedCredentials
		}
		if (err == nil) != vector.IsAccepted || codeOf(err) != code {
			t.Error(vector, err)
		}
		if secret := strings.TrimSpace(vector.APISecret); err != nil && secret != "" && strings.Contains(err.Error(), secret) {
			t.Error("the message has the secret", err)
		}
	}
}
