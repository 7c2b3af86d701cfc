"""Client of the Merchant Payment Order Service, and receivers of its webhooks."""

from typing import TYPE_CHECKING

from .errors import PayordersError
from .handlers import (
    AsyncDedupeStore,
    DedupeStore,
    MemoryStore,
    django_handler,
    fastapi_handler,
    flask_handler,
)
from .money import format_paise, to_paise
from .webhooks import SignedEvent, WebhookVerificationError, sign_test_event, verify

if TYPE_CHECKING:
    from ._async import AsyncClient
    from ._sync import Client

__all__ = [
    "AsyncClient",
    "AsyncDedupeStore",
    "Client",
    "DedupeStore",
    "MemoryStore",
    "PayordersError",
    "SignedEvent",
    "WebhookVerificationError",
    "django_handler",
    "fastapi_handler",
    "flask_handler",
    "format_paise",
    "sign_test_event",
    "to_paise",
    "verify",
]


def __getattr__(name: str) -> object:
    # A program that only verifies webhooks does not need httpx.
    if name == "Client":
        from ._sync import Client

        return Client
    if name == "AsyncClient":
        from ._async import AsyncClient

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
