"""The calls of a client, as methods."""

import asyncio
from types import TracebackType
from typing import Literal

import httpx

from ..attempts import AsyncSleep
from ..calls import Call, command, path_of, sandbox_call
from ..errors import PayordersError
from ..money import Rupees, to_paise
from ..settings import Credentials
from ..types import (
    CreatedOrder,
    Environment,
    EventDetails,
    EventType,
    Order,
    OrderStatus,
    PaymentSession,
    Statement,
    StatementLine,
    Timeline,
    WebhookEvent,
)
from .transport import AsyncItemList, AsyncTransport


class _AsyncCalls:
    """Calls of one kind."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._send = transport.send


class AsyncOrders(_AsyncCalls):
    """Orders. Every method raises PayordersError."""

    async def create(
        self,
        *,
        amount: Rupees,
        buyer_email: str,
        buyer_phone: str,
        description: str,
        buyer_name: str | None = None,
        merchant_order_id: str | None = None,
        return_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> CreatedOrder:
        """Creates an order.

        With the key of an earlier call, it returns that call's order as it stands, and ``replayed`` is True: one that
        is CANCELLED or REFUNDED takes no payment, so create another with a new key.

        ``amount``: rupees: ``Decimal('499.50')`` or ``'499.50'``.
        ``buyer_phone``: +91 and 10 digits.
        ``return_url``: where the buyer's pages link to after the payment.

        Raises ValueError for an amount with more than two decimals, before the request.
        """
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
        call: Call[CreatedOrder] = Call(
            "POST", "/orders", body=body, idempotency_key=idempotency_key, shows_replay=True
        )
        return await self._send(call)

    async def get(self, order_number: str) -> Order:
        """An order as it stands."""
        return await self._send(Call("GET", path_of("orders", order_number)))

    def list(
        self,
        *,
        status: OrderStatus | None = None,
        merchant_order_id: str | None = None,
        buyer_email: str | None = None,
        created_from: str | None = None,
        created_to: str | None = None,
        size: int | None = None,
        after: str | None = None,
    ) -> AsyncItemList[Order]:
        """Orders, newest first, without drift: an order that is created meanwhile moves nothing.

        ``created_from`` is inclusive, ``created_to`` exclusive: ISO-8601.
        ``size``: orders that one request returns: 1 to 100, 20 if absent.
        ``after``: the ``next`` of an earlier page.
        """
        query = {
            "status": status,
            "merchantOrderId": merchant_order_id,
            "buyerEmail": buyer_email,
            "createdFrom": created_from,
            "createdTo": created_to,
            "size": size,
        }
        return AsyncItemList(self._transport, "/orders", query, after)

    async def timeline(self, order_number: str, *, before: str | None = None) -> Timeline:
        """What happened to an order, and what happens next; ``before`` is an ``earlier``."""
        return await self._send(
            Call("GET", path_of("orders", order_number, "/timeline"), {"before": before})
        )

    async def deliver(
        self,
        order_number: str,
        *,
        tracking_id: str | None = None,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> Order:
        """Says that a PAID order was delivered."""
        body = {"trackingId": tracking_id, "note": note}
        return await self._send(command(order_number, "/deliver", body, idempotency_key))

    async def cancel(
        self, order_number: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> Order:
        """Cancels an ACCEPTED order."""
        return await self._send(
            command(order_number, "/cancel", {"reason": reason}, idempotency_key)
        )

    async def refund(
        self, order_number: str, *, reason: str, idempotency_key: str | None = None
    ) -> Order:
        """Gives the whole amount of a PAID or DELIVERED order back."""
        return await self._send(
            command(order_number, "/refund", {"reason": reason}, idempotency_key)
        )

    async def open_payment_session(
        self, order_number: str, *, idempotency_key: str | None = None
    ) -> PaymentSession:
        """The open payment session of an order, or a new one."""
        path = path_of("orders", order_number, "/payment-sessions")
        return await self._send(Call("POST", path, idempotency_key=idempotency_key))

    async def get_payment_session(self, order_number: str, session_id: str) -> PaymentSession:
        """A payment session. One that has expired is a PayordersError ``PAYMENT_SESSION_EXPIRED``."""
        path = path_of("orders", order_number) + path_of("payment-sessions", session_id)
        return await self._send(Call("GET", path))


class AsyncDisputes(_AsyncCalls):
    """The dispute of an order. Every method raises PayordersError."""

    async def submit_evidence(
        self, order_number: str, *, text: str, idempotency_key: str | None = None
    ) -> Order:
        """Gives evidence, once for each dispute."""
        return await self._send(
            command(order_number, "/dispute/evidence", {"text": text}, idempotency_key)
        )

    async def resolve(
        self, order_number: str, *, resolution: str, idempotency_key: str | None = None
    ) -> Order:
        """Says how the dispute was resolved with the buyer."""
        body = {"resolution": resolution}
        return await self._send(command(order_number, "/dispute/resolve", body, idempotency_key))

    async def accept(self, order_number: str, *, idempotency_key: str | None = None) -> Order:
        """Gives in: the buyer is refunded."""
        return await self._send(command(order_number, "/dispute/accept", {}, idempotency_key))


class AsyncEvents(_AsyncCalls):
    """What webhooks told or should have told. Every method raises PayordersError."""

    def list(
        self,
        *,
        type: EventType | None = None,
        order_number: str | None = None,
        created_from: str | None = None,
        size: int | None = None,
        after: str | None = None,
    ) -> AsyncItemList[WebhookEvent]:
        """Events, oldest first. Keep the ``next`` of the last page: nothing ever appears before it.

        ``created_from``: inclusive, ISO-8601; events are kept for 90 days.
        ``size``: events that one request returns: 1 to 100.
        ``after``: the ``next`` of an earlier page.
        """
        query = {
            "type": type,
            "orderNumber": order_number,
            "createdFrom": created_from,
            "size": size,
        }
        return AsyncItemList(self._transport, "/events", query, after)

    async def get(self, event_id: str) -> EventDetails:
        """One event, with the state of its delivery and its attempts."""
        return await self._send(Call("GET", path_of("events", event_id)))

    async def resend(self, event_id: str, *, idempotency_key: str | None = None) -> object:
        """Sends the webhook once more."""
        path = path_of("events", event_id, "/resend")
        return await self._send(Call("POST", path, idempotency_key=idempotency_key))


class AsyncStatements(_AsyncCalls):
    """What became of your money, day by day. Every method raises PayordersError."""

    async def get(self, date: str, *, size: int | None = None, after: str | None = None) -> Statement:
        """A day in India, such as ``2026-11-20``: a page of its lines, and its balances.

        ``size``: lines that one request returns: 1 to 100.
        ``after``: the ``next`` of the page before.
        """
        return await self._send(
            Call("GET", path_of("statements", date), {"size": size, "after": after})
        )

    def lines(self, date: str) -> AsyncItemList[StatementLine]:
        """Every line of a day. Read it when the day is ``closed``."""
        return AsyncItemList(self._transport, path_of("statements", date), {"size": 100}, None)


class AsyncSandbox(_AsyncCalls):
    """Plays the buyer, the bank and an operator, and moves an order's clock. Every method raises PayordersError."""

    async def pay(self, order_number: str) -> Order:
        """The buyer pays."""
        return await self._send(sandbox_call(order_number, "pay"))

    async def fail_payment(self, order_number: str) -> Order:
        """The buyer's payment fails."""
        return await self._send(sandbox_call(order_number, "fail-payment"))

    async def dispute(self, order_number: str, *, reason: str) -> Order:
        """The buyer raises a dispute. ``reason``: 10 to 2000 characters."""
        return await self._send(sandbox_call(order_number, "dispute", {"reason": reason}))

    async def advance(self, order_number: str, *, seconds: int) -> Order:
        """Moves the order's clock, and its webhook retries with it: 1 second to 30 days."""
        return await self._send(sandbox_call(order_number, "advance", {"seconds": seconds}))

    async def decide(self, order_number: str, *, winner: Literal["merchant", "buyer"]) -> Order:
        """An operator decides the dispute. ``winner`` is the ``for`` of the API, a word of Python."""
        return await self._send(sandbox_call(order_number, "decide", {"for": winner}))

    async def chargeback(self, order_number: str, *, outcome: Literal["open", "won", "lost"]) -> Order:
        """The buyer's bank takes the payment back, or has decided about it."""
        return await self._send(sandbox_call(order_number, "chargeback", {"outcome": outcome}))

    async def late_payment(self, order_number: str) -> Order:
        """The buyer pays an order that cannot take it any more."""
        return await self._send(sandbox_call(order_number, "late-payment"))

    async def second_payment(self, order_number: str) -> Order:
        """The buyer pays once more."""
        return await self._send(sandbox_call(order_number, "second-payment"))

    async def fail_refund(self, order_number: str) -> Order:
        """The refund of a REFUNDED order fails at the bank, and is made again."""
        return await self._send(sandbox_call(order_number, "fail-refund"))

    async def fail_after_work(self) -> object:
        """The next POST answers 500 after it has taken effect, once: this client then retries it."""
        return await self._send(Call("POST", "/test-helpers/fail-after-work"))


class AsyncClient:
    """A client of one merchant in one environment. Threads may share a Client; an AsyncClient has one event loop."""

    def __init__(
        self,
        *,
        environment: Environment,
        api_key: str,
        api_secret: str,
        base_url: str,
        max_retries: int = 4,
        timeout_seconds: float = 30,
        http: httpx.AsyncClient | None = None,
        sleep: AsyncSleep = asyncio.sleep,
    ) -> None:
        """Makes a client.

        ``base_url``: such as ``https://pay.example.com``, without the base path.
        ``max_retries``: how often a request is sent again after no response, 429, 500, 502, 503 or 504.
        ``timeout_seconds``: for the connection, and for each wait for bytes of the answer.
        ``http``: replaces the connections, such as by some with a proxy; its time-outs then hold.
        ``sleep``: replaces the wait between attempts, in seconds, for tests.

        Raises PayordersError ``MALFORMED_CREDENTIALS``, ``MALFORMED_BASE_URL``, or ``WRONG_ENVIRONMENT`` for keys of
        the other environment.
        """
        credentials = Credentials(environment, api_key, api_secret)
        self._http = http or httpx.AsyncClient(timeout=timeout_seconds)
        self._environment = environment
        self._transport = AsyncTransport(credentials, base_url, max_retries, self._http, sleep)
        self.orders = AsyncOrders(self._transport)
        self.disputes = AsyncDisputes(self._transport)
        self.events = AsyncEvents(self._transport)
        self.statements = AsyncStatements(self._transport)

    @property
    def sandbox(self) -> AsyncSandbox:
        """The test helpers. Raises PayordersError ``WRONG_ENVIRONMENT`` in production."""
        if self._environment == "sandbox":
            return AsyncSandbox(self._transport)
        message = "The test helpers exist in the sandbox only"
        raise PayordersError(message, status=0, code="WRONG_ENVIRONMENT")

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
