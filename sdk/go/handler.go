package payorders

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// mostWebhookBytes is more than any webhook of the service.
const mostWebhookBytes = 1 << 20

// DedupeStore remembers which events were handled. Keep it where the effects of the events are kept.
type DedupeStore interface {
	Has(ctx context.Context, eventID string) (bool, error)
	// Add is called after OnEvent has succeeded.
	Add(ctx context.Context, eventID string) error
}

// HandlerOptions say how webhooks are handled.
type HandlerOptions struct {
	// Secrets are those of this endpoint and environment; during a rotation the new and the old one.
	Secrets []string
	// OnEvent handles an event. If it fails, the answer is 500 and the service sends the event again. It may be called
	// twice for one event if the process dies before the store has it.
	OnEvent func(context.Context, *Event) error
	Store   DedupeStore
	// OnError learns why a webhook was not accepted. It may be nil.
	OnError func(error)
}

// Handler handles webhooks with net/http. At the same moment, a repeat in this process waits for the first one.
func Handler(options HandlerOptions) http.Handler {
	return &handler{options: options, running: map[string]*task{}}
}

type handler struct {
	options HandlerOptions
	mutex   sync.Mutex
	running map[string]*task
}

// task is the handling of one event; err is set when done is closed.
type task struct {
	done chan struct{}
	err  error
}

func (receiver *handler) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	status, text := receiver.reply(response, request)
	response.Header().Set("Content-Type", "text/plain; charset=utf-8")
	response.WriteHeader(status)
	_, _ = io.WriteString(response, text)
}

func (receiver *handler) reply(response http.ResponseWriter, request *http.Request) (int, string) {
	err := receiver.receive(response, request)
	if err == nil {
		return http.StatusOK, "ok"
	}
	if receiver.options.OnError != nil {
		receiver.options.OnError(err)
	}
	var wrong *VerificationError
	if errors.As(err, &wrong) {
		return http.StatusUnauthorized, string(wrong.Mistake)
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge, "too large"
	}
	return http.StatusInternalServerError, "failed"
}

func (receiver *handler) receive(response http.ResponseWriter, request *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, mostWebhookBytes))
	if err != nil {
		return err
	}
	event, err := Verify(body, request.Header, receiver.options.Secrets...)
	if err != nil {
		return err
	}
	// The event is handled to its end if the sender hangs up meanwhile.
	return receiver.handleOnce(context.WithoutCancel(request.Context()), event)
}

func (receiver *handler) handleOnce(ctx context.Context, event *Event) error {
	receiver.mutex.Lock()
	running, isRepeat := receiver.running[event.EventID]
	if !isRepeat {
		running = &task{done: make(chan struct{}), err: errors.New("payorders: OnEvent did not return")}
		receiver.running[event.EventID] = running
	}
	receiver.mutex.Unlock()
	if isRepeat {
		<-running.done
		return running.err
	}
	// After a panic, too, which net/http catches.
	defer func() {
		receiver.mutex.Lock()
		delete(receiver.running, event.EventID)
		receiver.mutex.Unlock()
		close(running.done)
	}()
	running.err = receiver.handle(ctx, event)
	return running.err
}

func (receiver *handler) handle(ctx context.Context, event *Event) error {
	known, err := receiver.options.Store.Has(ctx, event.EventID)
	if err != nil || known {
		return err
	}
	if err := receiver.options.OnEvent(ctx, event); err != nil {
		return err
	}
	return receiver.options.Store.Add(ctx, event.EventID)
}

// MemoryStore is a store in memory, for tests and a single process: it forgets everything when the process ends.
type MemoryStore struct {
	most  int
	mutex sync.Mutex
	known map[string]bool
	order []string
}

// NewMemoryStore makes a store that keeps so many events at most; 10,000 if 0.
func NewMemoryStore(most int) *MemoryStore {
	if most == 0 {
		most = 10_000
	}
	return &MemoryStore{most: most, known: map[string]bool{}}
}

// Has says whether the event was handled.
func (store *MemoryStore) Has(_ context.Context, eventID string) (bool, error) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	return store.known[eventID], nil
}

// Add keeps the event, and forgets the oldest one.
func (store *MemoryStore) Add(_ context.Context, eventID string) error {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	if store.known[eventID] {
		return nil
	}
	store.known[eventID] = true
	store.order = append(store.order, eventID)
	if len(store.order) > store.most {
		delete(store.known, store.order[0])
		store.order = store.order[1:]
	}
	return nil
}
