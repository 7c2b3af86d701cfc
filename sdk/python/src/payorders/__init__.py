"""Client of the Merchant Payment Order Service, and receivers of its webhooks."""

from .errors import PayordersError
from .money import format_paise, to_paise
from .webhooks import SignedEvent, WebhookVerificationError, sign_test_event, verify

__all__ = [
    "PayordersError",
    "SignedEvent",
    "WebhookVerificationError",
    "format_paise",
    "sign_test_event",
    "to_paise",
    "verify",
]
