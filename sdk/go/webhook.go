package payorders

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Mistake is what is wrong with a webhook, or with the code that verifies it.
type Mistake string

const (
	// MistakeMissingHeader: a header of the signature is missing or malformed: the request does not come from the service.
	MistakeMissingHeader Mistake = "missing_header"
	// MistakeReserialised: the body was parsed and serialised again.
	MistakeReserialised Mistake = "reserialised"
	// MistakeMalformedSecret: the secret has white space or quotes around it, or is not one secret.
	MistakeMalformedSecret Mistake = "malformed_secret"
	// MistakePrefixStripped: the secret is used without its whsec_.
	MistakePrefixStripped Mistake = "prefix_stripped"
	// MistakeWrongSecret: no secret fits: it is another endpoint's or environment's, or the request is forged.
	MistakeWrongSecret Mistake = "wrong_secret"
	// MistakeClock: the signature is right and the time is more than 300 s away: a replay, or a clock that is wrong.
	MistakeClock Mistake = "clock"
)

// VerificationError is a webhook that must not be believed. Answer it with 401.
type VerificationError struct {
	Mistake Mistake
	Message string
}

func (err *VerificationError) Error() string { return "payorders: " + err.Message }

const (
	secretPrefix    = "whsec_"
	headerTimestamp = "X-Service-Timestamp"
	headerSignature = "X-Service-Signature"
	headerEvent     = "X-Service-Event"
	headerEventID   = "X-Service-Event-Id"
	// toleranceSeconds: the specification.
	toleranceSeconds = 300
	// mostParsedBytes is more than any event has: a longer body without a valid signature is not parsed.
	mostParsedBytes = 64 << 10
)

var (
	timestampForm = regexp.MustCompile(`^[0-9]{1,12}$`)
	signatureForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	// The service writes TEST events with odd spaces, which no serialiser keeps.
	reserialisedTest = regexp.MustCompile(`^\{\s?"event":\s?"TEST"`)
)

// sign is the signature of `<timestamp>.<raw body>`.
func sign(secret, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

type signed struct {
	timestamp string
	signature []byte
}

// fitsAny compares in constant time, and tries every secret, so that the time does not tell which one fits.
func (one signed) fitsAny(body []byte, secrets []string) bool {
	fits := false
	for _, secret := range secrets {
		if hmac.Equal(sign(secret, one.timestamp, body), one.signature) {
			fits = true
		}
	}
	return fits
}

// faultOfSecret is what is wrong with the form of a secret: a real one has base64 behind its prefix.
func faultOfSecret(secret string) string {
	if strings.HasPrefix(secret, secretPrefix+secretPrefix) {
		return "begins with whsec_ twice"
	}
	return faultOfKey(strings.NewReplacer("+", "_", "/", "_", "=", "_", "-", "_").Replace(secret))
}

// mistakeOf finds the mistake behind a signature that no secret fits.
func (one signed) mistakeOf(body []byte, secrets []string) *VerificationError {
	var stripped []string
	for _, secret := range secrets {
		if !strings.HasPrefix(secret, secretPrefix) {
			stripped = append(stripped, secretPrefix+secret)
		}
	}
	if one.fitsAny(body, stripped) {
		return &VerificationError{MistakePrefixStripped, "the secret must begin with whsec_: use it as the dashboard shows it"}
	}
	for _, secret := range secrets {
		if fault := faultOfSecret(secret); fault != "" {
			message := "the secret " + fault + ": use it as the dashboard shows it"
			return &VerificationError{MistakeMalformedSecret, message}
		}
	}
	if reserialisedTest.Match(body) || len(body) <= mostParsedBytes && one.fitsAny(compact(body), secrets) {
		return &VerificationError{MistakeReserialised, "the body was parsed and serialised again: verify the bytes as they arrived"}
	}
	return &VerificationError{MistakeWrongSecret, "no secret fits the signature: is it that of this endpoint and environment?"}
}

// Verify verifies a webhook and returns its event.
//
// rawBody are the bytes as they arrived. The secrets are that of the endpoint, and during a rotation the old one.
// What must not be believed is a *VerificationError, which names the mistake; answer it with 401.
func Verify(rawBody []byte, header http.Header, secrets ...string) (*Event, error) {
	return VerifyAt(time.Now(), rawBody, header, secrets...)
}

// VerifyAt is Verify at another time than now, for tests.
func VerifyAt(now time.Time, rawBody []byte, header http.Header, secrets ...string) (*Event, error) {
	timestamp, digest := header.Get(headerTimestamp), header.Get(headerSignature)
	if !timestampForm.MatchString(timestamp) || !signatureForm.MatchString(digest) {
		message := headerTimestamp + " or " + headerSignature + " is missing or malformed"
		return nil, &VerificationError{MistakeMissingHeader, message}
	}
	signature, _ := hex.DecodeString(digest)
	one := signed{timestamp: timestamp, signature: signature}
	usable := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		// An empty secret, such as that of an unset variable, would let everybody sign.
		if secret != "" {
			usable = append(usable, secret)
		}
	}
	if !one.fitsAny(rawBody, usable) {
		return nil, one.mistakeOf(rawBody, usable)
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	difference := max(now.Unix()-seconds, seconds-now.Unix())
	if difference > toleranceSeconds {
		message := fmt.Sprintf("the webhook was signed %d s away from this clock, at most %d are allowed", difference, toleranceSeconds)
		return nil, &VerificationError{MistakeClock, message}
	}
	var event Event
	if err := json.Unmarshal(rawBody, &event); err != nil {
		return nil, fmt.Errorf("payorders: the event cannot be read: %w", err)
	}
	return &event, nil
}

// SignTestEvent signs an event as the service does, for tests of your own handler. It has at least its Type;
// an empty EventID, Timestamp or Environment gets a value.
func SignTestEvent(event Event, secret string) ([]byte, http.Header, error) {
	return signTestEventAt(time.Now(), event, secret)
}

func signTestEventAt(now time.Time, event Event, secret string) ([]byte, http.Header, error) {
	if event.Type == "" {
		return nil, nil, errors.New("payorders: the event has no Type")
	}
	if event.EventID == "" {
		event.EventID = "evt_test_" + randomText()
	}
	if event.Timestamp.IsZero() {
		event.Timestamp = now.UTC().Truncate(time.Millisecond)
	}
	if event.Environment == "" {
		event.Environment = EnvironmentSandbox
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(event); err != nil {
		return nil, nil, err
	}
	raw := bytes.TrimSuffix(body.Bytes(), []byte("\n"))
	timestamp := strconv.FormatInt(now.Unix(), 10)
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set(headerEvent, string(event.Type))
	header.Set(headerEventID, event.EventID)
	header.Set(headerTimestamp, timestamp)
	header.Set(headerSignature, hex.EncodeToString(sign(secret, timestamp, raw)))
	return raw, header, nil
}
