"""The calls of the API, which both clients send."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode

from .money import Rupees, to_paise
from .types import (
    CreatedOrder,
    EventDetails,
    EventType,
    Order,
    OrderStatus,
    Page,
    PaymentSession,
    Statement,
    StatementLine,
    Timeline,
    WebhookEvent,
)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Call(Generic[Result]):
    """One call; ``path`` is below the base path and has the query."""

    method: Literal["GET", "POST"]
    path: str
    body: Mapping[str, Any] | None = None
    idempotency_key: str | None = None
    shows_replay: bool = False
    """Adds ``replayed`` to its data: whether an earlier call with the key has the result."""

    def result_of(self, data: Any) -> Result:
        """The ``data`` of the response."""
        result: Result = data
        return result


class PageCall(Call[Page[Result]]):
    """A call whose response is a page."""

    def result_of(self, data: Any) -> Page[Result]:
        return Page(content=data["content"], next=data["next"])


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _order(order_number: str, rest: str = "") -> str:
    return f"/orders/{quote(order_number, safe='')}{rest}"


def _event(event_id: str, rest: str = "") -> str:
    return f"/events/{quote(event_id, safe='')}{rest}"


def _list(path: str, query: Mapping[str, str | int | None]) -> str:
    given = urlencode(_without_none(query))
    return f"{path}?{given}" if given else path


def _command(path: str, key: str | None, body: Mapping[str, Any]) -> Call[Order]:
    return Call("POST", path, _without_none(body), key)


def create_order(
    *,
    amount: Rupees,
    buyer_email: str,
    buyer_phone: str,
    description: str,
    buyer_name: str | None,
    merchant_order_id: str | None,
    return_url: str | None,
    idempotency_key: str | None,
) -> Call[CreatedOrder]:
    """Raises ValueError for an amount with more than two decimals."""
    body = {
        # At most 15 digits: JSON has the amount exactly.
        "amount": to_paise(amount) / 100,
        "buyerEmail": buyer_email,
        "buyerPhone": buyer_phone,
        "description": description,
        "buyerName": buyer_name,
        "merchantOrderId": merchant_order_id,
        "returnUrl": return_url,
    }
    return Call("POST", "/orders", _without_none(body), idempotency_key, shows_replay=True)


def get_order(order_number: str) -> Call[Order]:
    return Call("GET", _order(order_number))


def list_orders(
    *,
    status: OrderStatus | None,
    merchant_order_id: str | None,
    buyer_email: str | None,
    created_from: str | None,
    created_to: str | None,
    size: int | None,
    after: str | None,
) -> PageCall[Order]:
    query = {
        "status": status,
        "merchantOrderId": merchant_order_id,
        "buyerEmail": buyer_email,
        "createdFrom": created_from,
        "createdTo": created_to,
        "size": size,
        "after": after,
    }
    return PageCall("GET", _list("/orders", query))


def timeline(order_number: str, before: str | None) -> Call[Timeline]:
    return Call("GET", _list(_order(order_number, "/timeline"), {"before": before}))


def deliver(
    order_number: str, tracking_id: str | None, note: str | None, key: str | None
) -> Call[Order]:
    body = {"trackingId": tracking_id, "note": note}
    return _command(_order(order_number, "/deliver"), key, body)


def cancel(order_number: str, reason: str | None, key: str | None) -> Call[Order]:
    return _command(_order(order_number, "/cancel"), key, {"reason": reason})


def refund(order_number: str, reason: str, key: str | None) -> Call[Order]:
    return _command(_order(order_number, "/refund"), key, {"reason": reason})


def open_payment_session(order_number: str, key: str | None) -> Call[PaymentSession]:
    return Call("POST", _order(order_number, "/payment-sessions"), None, key)


def get_payment_session(order_number: str, session_id: str) -> Call[PaymentSession]:
    session = quote(session_id, safe="")
    return Call("GET", _order(order_number, f"/payment-sessions/{session}"))


def submit_evidence(order_number: str, text: str, key: str | None) -> Call[Order]:
    return _command(_order(order_number, "/dispute/evidence"), key, {"text": text})


def resolve(order_number: str, resolution: str, key: str | None) -> Call[Order]:
    return _command(_order(order_number, "/dispute/resolve"), key, {"resolution": resolution})


def accept(order_number: str, key: str | None) -> Call[Order]:
    return _command(_order(order_number, "/dispute/accept"), key, {})


def list_events(
    *,
    type: EventType | None,
    order_number: str | None,
    created_from: str | None,
    size: int | None,
    after: str | None,
) -> PageCall[WebhookEvent]:
    query = {
        "type": type,
        "orderNumber": order_number,
        "createdFrom": created_from,
        "size": size,
        "after": after,
    }
    return PageCall("GET", _list("/events", query))


def get_event(event_id: str) -> Call[EventDetails]:
    return Call("GET", _event(event_id))


def resend(event_id: str, key: str | None) -> Call[object]:
    return Call("POST", _event(event_id, "/resend"), None, key)


def get_statement(date: str, size: int | None, after: str | None) -> Call[Statement]:
    return Call("GET", _statement(date, size, after))


def list_lines(date: str, after: str | None) -> PageCall[StatementLine]:
    return PageCall("GET", _statement(date, 100, after))


def _statement(date: str, size: int | None, after: str | None) -> str:
    return _list(f"/statements/{quote(date, safe='')}", {"size": size, "after": after})


def help_order(order_number: str, helper: str, body: Mapping[str, Any] | None = None) -> Call[Order]:
    """A test helper of the sandbox."""
    return Call("POST", f"/test-helpers{_order(order_number, f'/{helper}')}", body)


def fail_after_work() -> Call[object]:
    return Call("POST", "/test-helpers/fail-after-work")
