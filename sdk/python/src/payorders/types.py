"""The objects of the API, as they are in its JSON.

Times are ISO-8601 in UTC. Amounts are rupees, as Decimal. A value of an enum may be a text that is not listed
here: an unknown one must not break a program.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, Literal, TypedDict, TypeVar

Environment = Literal["sandbox", "production"]
"""Where a request belongs. The prefix of the key says the same."""

OrderStatus = (
    Literal[
        "ACCEPTED",
        "PAID",
        "DELIVERED",
        "DISPUTE_OPEN",
        "DISPUTE_UNDER_REVIEW",
        "COMPLETED",
        "REFUNDED",
        "CANCELLED",
    ]
    | str
)

RefundReason = (
    Literal[
        "merchant_refund",
        "dispute_not_resolved_in_time",
        "dispute_accepted",
        "dispute_decided_for_buyer",
        "settled_by_operator",
        "late_payment",
        "wrong_amount",
        "already_paid",
    ]
    | str
)
"""Why a buyer is refunded. The last three are of a CANCELLED order, which cannot take a payment."""

EventType = (
    Literal[
        "ORDER_CREATED",
        "PAYMENT_SUCCESS",
        "PAYMENT_FAILED",
        "DELIVERY_CONFIRMED",
        "DISPUTE_RAISED",
        "DISPUTE_RESOLVED",
        "ORDER_COMPLETED",
        "REFUND_PROCESSED",
        "ORDER_CANCELLED",
        "TEST",
    ]
    | str
)
"""The types of events. ``TEST`` comes from the dashboard's button and from ``payorders trigger``."""

DeliveryState = Literal["PENDING", "DELIVERED", "FAILED"] | str


class Buyer(TypedDict):
    """Empty texts once the buyer's data was erased."""

    email: str
    name: str
    phone: str


DisputeDecision = TypedDict(
    "DisputeDecision",
    {"for": Literal["merchant", "buyer"] | str, "reason": str, "decided_at": str},
)


class Dispute(TypedDict):
    """The latest dispute of an order. ``respond_by`` is None once it has ended."""

    reason: str
    raised_at: str
    respond_by: str | None
    evidence: str | None
    resolution: str | None
    decision: DisputeDecision | None
    ended_at: str | None


class Refund(TypedDict):
    """``processed_at`` is None while the refund is under way."""

    amount: Decimal
    reason: RefundReason
    processed_at: str | None


class Payment(TypedDict):
    """The payment of an order."""

    gateway_payment_id: str
    utr: str | None
    paid_at: str
    reversed_amount: Decimal


class Cancellation(TypedDict):
    """Who ended an order before its payment, and when."""

    by: Literal["merchant", "expiry"] | str
    reason: str | None
    cancelled_at: str


class _OrderIfGiven(TypedDict, total=False):
    merchant_order_id: str
    return_url: str


class Order(_OrderIfGiven):
    """An order, in responses and in webhooks. ``completes_at`` is set while it is DELIVERED."""

    order_number: str
    amount: Decimal
    currency: Literal["INR"]
    status: OrderStatus
    dispute_count: int
    buyer: Buyer
    description: str
    payment_url: str
    payment_link_expires_at: str
    completes_at: str | None
    dispute: Dispute | None
    refund: Refund | None
    payment: Payment | None
    cancellation: Cancellation | None
    created_at: str
    updated_at: str


class CreatedOrder(Order):
    """An order that ``create`` returns. ``replayed``: whether an earlier call with the same idempotency key created it."""

    replayed: bool


class PaymentFailure(TypedDict):
    """Why a payment failed."""

    reason: str


class EventData(Order, total=False):
    """The order of an event. PAYMENT_FAILED alone has ``payment_failure``."""

    payment_failure: PaymentFailure


class WebhookEvent(TypedDict):
    """The body of a webhook, and an item of ``events.list``.

    ``event_id`` is unique: by this a receiver finds a repeat. ``sequence`` is 1, 2, 3… over the events of the
    order, and 0 of a TEST event.
    """

    event: EventType
    event_id: str
    sequence: int
    timestamp: str
    environment: Environment
    data: EventData


class DeliveryAttempt(TypedDict):
    """``status_code`` is None without an answer, ``error`` if the endpoint accepted the event."""

    at: str
    kind: Literal["scheduled", "manual"] | str
    url: str
    status_code: int | None
    duration_ms: int
    error: str | None


class EventDelivery(TypedDict):
    """The state of a delivery and its attempts."""

    state: DeliveryState
    next_attempt_at: str | None
    attempts: Sequence[DeliveryAttempt]


class EventDetails(TypedDict):
    """An event; ``delivery`` is None if no webhook URL was configured when it happened."""

    event: WebhookEvent
    delivery: EventDelivery | None


class StatementLine(TypedDict):
    """A movement of your money. ``credit`` is added to what is held for you, ``debit`` is taken from it."""

    type: (
        Literal[
            "paid", "released", "paid_out", "refunded", "refund_failed", "reversed", "charged_back", "covered"
        ]
        | str
    )
    amount: Decimal
    credit: Decimal
    debit: Decimal
    booked_at: str
    happened_at: str
    order_number: str
    merchant_order_id: str | None
    gateway_payment_id: str
    gateway_transfer_id: str | None
    gateway_refund_id: str | None
    gateway_chargeback_id: str | None
    utr: str | None
    gateway_payout_id: str | None
    payout_utr: str | None


class Statement(TypedDict):
    """A day in India: a page of its lines, and its balances. Nothing will be added to a ``closed`` day."""

    content: Sequence[StatementLine]
    next: str | None
    opening_balance: Decimal
    closing_balance: Decimal
    closed: bool


class PaymentSession(TypedDict):
    """A payment session for a merchant with its own payment page."""

    session_id: str
    status: Literal["open", "paid", "closed"] | str
    upi_intent: str | None
    expires_at: str


class TimelineDelivery(TypedDict):
    """``attempts`` is their number."""

    state: DeliveryState
    attempts: int
    next_attempt_at: str | None


class TimelineWebhook(TypedDict):
    """The webhook of a step."""

    event_id: str
    sequence: int
    delivery: TimelineDelivery | None


class TimelineEntry(TypedDict):
    """One step of an order."""

    kind: str
    at: str
    status: OrderStatus
    details: Mapping[str, Any] | None
    webhook: TimelineWebhook | None


class NextAction(TypedDict):
    """What happens next, unless something else happens before."""

    at: str
    action: str


class Timeline(TypedDict):
    """What happened to an order, and what happens next; ``earlier`` is the ``before`` of the
    entries before these."""

    order_number: str
    status: OrderStatus
    doing: Literal["closing", "releasing", "refunding"] | str | None
    entries: Sequence[TimelineEntry]
    earlier: str | None
    next: NextAction | None


Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """A page of a list, and the cursor of the next one."""

    content: Sequence[Item]
    next: str | None
