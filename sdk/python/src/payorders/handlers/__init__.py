"""Handlers of webhooks for Flask, Django and FastAPI. A framework is imported when its handler is made."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from ..types import WebhookEvent
from .receivers import MOST_BYTES, AsyncReceiver, OnError, Receiver, Reply, Secrets
from .stores import AsyncDedupeStore, DedupeStore, MemoryStore

__all__ = [
    "AsyncDedupeStore",
    "AsyncReceiver",
    "DedupeStore",
    "MemoryStore",
    "Receiver",
    "Reply",
    "django_handler",
    "fastapi_handler",
    "flask_handler",
]


def _body_of(length: int | None, whole: Callable[[], bytes], read: Callable[[int], bytes]) -> bytes:
    """A body, but of one that is longer than any webhook only the beginning, which the receiver refuses.

    ``length``: what the request says, to which the server holds it; None if it says nothing.
    """
    # Other code may read the whole body before or after this.
    if length is not None and length <= MOST_BYTES:
        return whole()
    body = bytearray()
    while len(body) <= MOST_BYTES:
        chunk = read(MOST_BYTES + 1 - len(body))
        if not chunk:
            break
        body += chunk
    return bytes(body)


async def _beginning_of(chunks: AsyncIterator[bytes]) -> bytes:
    """The same of a body that comes in chunks."""
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MOST_BYTES:
            break
    return bytes(body)


def flask_handler(
    *,
    secrets: Secrets,
    on_event: Callable[[WebhookEvent], object],
    store: DedupeStore,
    on_error: OnError | None = None,
) -> Callable[[], tuple[str, int]]:
    """A view for Flask: ``app.post('/hook')(flask_handler(…))``. The parameters are those of ``Receiver``."""
    from flask import request

    receiver = Receiver(secrets=secrets, on_event=on_event, store=store, on_error=on_error)

    def payorders_webhook() -> tuple[str, int]:
        body = _body_of(request.content_length, request.get_data, request.stream.read)
        status, text = receiver.receive(body, request.headers)
        return text, status

    return payorders_webhook


def django_handler(
    *,
    secrets: Secrets,
    on_event: Callable[[WebhookEvent], object],
    store: DedupeStore,
    on_error: OnError | None = None,
) -> Callable[..., Any]:
    """A view for Django: ``path('hook', django_handler(…))``. The parameters are those of ``Receiver``.

    It needs no token against forged forms: the signature is checked.
    """
    from django.http import HttpRequest, HttpResponse
    from django.views.decorators.csrf import csrf_exempt

    receiver = Receiver(secrets=secrets, on_event=on_event, store=store, on_error=on_error)

    def payorders_webhook(request: HttpRequest) -> HttpResponse:
        given = request.META.get("CONTENT_LENGTH") or ""
        length = int(given) if given.isdecimal() else None
        body = _body_of(length, lambda: request.body, request.read)
        status, text = receiver.receive(body, request.headers)
        return HttpResponse(text, status=status, content_type="text/plain")

    view: Callable[..., Any] = csrf_exempt(payorders_webhook)
    return view


def fastapi_handler(
    *,
    secrets: Secrets,
    on_event: Callable[[WebhookEvent], Awaitable[object] | object],
    store: DedupeStore | AsyncDedupeStore,
    on_error: OnError | None = None,
) -> Callable[..., Awaitable[Any]]:
    """An endpoint for FastAPI: ``app.post('/hook')(fastapi_handler(…))``. The parameters are those of ``Receiver``.

    ``on_event`` and ``store`` may be functions of asyncio. A plain ``on_event`` must not block.
    """
    from fastapi import Request, Response

    receiver = AsyncReceiver(secrets=secrets, on_event=on_event, store=store, on_error=on_error)

    async def payorders_webhook(request: Request) -> Response:
        body = await _beginning_of(request.stream())
        status, text = await receiver.receive(body, request.headers)
        return Response(text, status_code=status, media_type="text/plain")

    return payorders_webhook
