"""Handlers of webhooks for Flask, Django and FastAPI. A framework is imported when its handler is made."""

from collections.abc import Awaitable, Callable
from typing import Any

from ..types import WebhookEvent
from .receivers import AsyncReceiver, OnError, Receiver, Reply, Secrets
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
        status, text = receiver.receive(request.get_data(), request.headers)
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
        status, text = receiver.receive(request.body, request.headers)
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
        status, text = await receiver.receive(await request.body(), request.headers)
        return Response(text, status_code=status, media_type="text/plain")

    return payorders_webhook
