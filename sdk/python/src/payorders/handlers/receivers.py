"""Handles a webhook once: at the same moment, a repeat in this process waits for the first one."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from ..types import WebhookEvent
from ..webhooks import Headers, WebhookVerificationError, verify
from .stores import AsyncDedupeStore, DedupeStore

MOST_BYTES = 1024 * 1024
"""More than any webhook of the service."""

Secrets = str | Sequence[str]
OnError = Callable[[Exception], object]


class Reply(NamedTuple):
    """The answer to a webhook."""

    status: int
    text: str


class _BodyTooLargeError(ValueError):
    """The body is larger than any webhook."""


def _verified(raw_body: bytes, headers: Headers, secrets: Secrets) -> WebhookEvent:
    if len(raw_body) > MOST_BYTES:
        raise _BodyTooLargeError("The body is larger than any webhook")
    return verify(raw_body, headers, secrets)


def _reply_to(error: Exception) -> Reply:
    if isinstance(error, WebhookVerificationError):
        return Reply(401, error.mistake)
    if isinstance(error, _BodyTooLargeError):
        return Reply(413, "too large")
    return Reply(500, "failed")


class Receiver:
    """Receives webhooks in threads.

    ``secrets``: of this endpoint and environment; during a rotation the new and the old one.
    ``on_event``: handles an event. If it fails, the answer is 500 and the service sends the event again. It may
    be called twice for one event if the process dies before the store has it.
    ``on_error``: learns why a webhook was not accepted.
    """

    def __init__(
        self,
        *,
        secrets: Secrets,
        on_event: Callable[[WebhookEvent], object],
        store: DedupeStore,
        on_error: OnError | None = None,
    ) -> None:
        self._secrets = secrets
        self._on_event = on_event
        self._store = store
        self._on_error = on_error
        self._running: dict[str, Future[None]] = {}
        self._lock = threading.Lock()

    def _run(self, event: WebhookEvent, task: "Future[None]") -> None:
        event_id = event["event_id"]
        try:
            if not self._store.has(event_id):
                self._on_event(event)
                self._store.add(event_id)
            task.set_result(None)
        except BaseException as error:
            task.set_exception(error)
        finally:
            with self._lock:
                del self._running[event_id]

    def _handle_once(self, event: WebhookEvent) -> None:
        event_id = event["event_id"]
        with self._lock:
            running = self._running.get(event_id)
            task = self._running.setdefault(event_id, Future())
        if running is None:
            self._run(event, task)
        task.result()

    def receive(self, raw_body: bytes, headers: Headers) -> Reply:
        """Verifies and handles a webhook. An error is told to ``on_error``, not raised."""
        try:
            self._handle_once(_verified(raw_body, headers, self._secrets))
            return Reply(200, "ok")
        except Exception as error:
            if self._on_error is not None:
                self._on_error(error)
            return _reply_to(error)


async def _finished(result: Awaitable[object] | object) -> object:
    """The result of a function of asyncio or of a plain one."""
    return await result if inspect.isawaitable(result) else result


class AsyncReceiver:
    """Receives webhooks in one event loop. ``on_event`` and ``store`` may be functions of asyncio or plain ones."""

    def __init__(
        self,
        *,
        secrets: Secrets,
        on_event: Callable[[WebhookEvent], Awaitable[object] | object],
        store: DedupeStore | AsyncDedupeStore,
        on_error: OnError | None = None,
    ) -> None:
        self._secrets = secrets
        self._on_event = on_event
        self._store = store
        self._on_error = on_error
        self._running: dict[str, asyncio.Task[None]] = {}

    async def _run(self, event: WebhookEvent) -> None:
        event_id = event["event_id"]
        try:
            if not await _finished(self._store.has(event_id)):
                await _finished(self._on_event(event))
                await _finished(self._store.add(event_id))
        finally:
            del self._running[event_id]

    async def receive(self, raw_body: bytes, headers: Headers) -> Reply:
        """Verifies and handles a webhook. An error is told to ``on_error``, not raised."""
        try:
            event = _verified(raw_body, headers, self._secrets)
            event_id = event["event_id"]
            if event_id not in self._running:
                self._running[event_id] = asyncio.create_task(self._run(event))
            # The task goes on if the sender hangs up meanwhile.
            await asyncio.shield(self._running[event_id])
            return Reply(200, "ok")
        except Exception as error:
            if self._on_error is not None:
                self._on_error(error)
            return _reply_to(error)
