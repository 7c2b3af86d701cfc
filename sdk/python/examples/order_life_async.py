"""An order goes through its life in the sandbox, with asyncio.

``PAYORDERS_API_KEY``, ``PAYORDERS_API_SECRET`` and ``PAYORDERS_BASE_URL`` are what ``npm start`` prints.
"""

import asyncio
import os
import uuid
from collections.abc import Awaitable

from payorders import AsyncClient, PayordersError, format_paise, to_paise

BUYER = {
    "buyer_email": "asha@example.com",
    "buyer_phone": "+919876543210",
    "description": "Blue kurta, size M",
}
# The id of your own order, which you save first.
SHOP_ORDER = f"SHOP-{uuid.uuid4()}"
KEY = f"{SHOP_ORDER}-create"


async def live(client: AsyncClient) -> None:
    orders, disputes, sandbox = client.orders, client.disputes, client.sandbox
    kurta = {**BUYER, "merchant_order_id": SHOP_ORDER}
    order = await orders.create(amount="499.50", idempotency_key=KEY, **kurta)
    number = order["order_number"]
    print("created", order["status"], format_paise(to_paise(order["amount"])))

    # The same call returns the same order: after a crash, too.
    again = await orders.create(amount="499.50", idempotency_key=KEY, **kurta)
    print("again", again["order_number"] == number)

    paid = await sandbox.pay(number)
    print("paid", paid["status"])
    delivered = await orders.deliver(number, tracking_id="IN1")
    print("delivered", delivered["status"])
    raised = await sandbox.dispute(number, reason="It never arrived here")
    print("disputed", raised["status"])
    evidence = await disputes.submit_evidence(number, text="A photo of the delivery")
    print("evidence", evidence["status"])
    resolved = await disputes.resolve(number, resolution="A new one is on its way")
    print("resolved", resolved["status"])
    upcoming = (await orders.timeline(number))["next"]
    print("next", upcoming and upcoming["action"])

    # A 500 after the work was done: the client repeats the call, and nothing is done twice.
    await sandbox.fail_after_work()
    second = await orders.create(amount=5, **kurta)
    opened = await orders.open_payment_session(second["order_number"])
    session = await orders.get_payment_session(second["order_number"], opened["session_id"])
    print("session", session["status"])
    listed = [one async for one in orders.list(merchant_order_id=SHOP_ORDER, size=1)]
    print("listed", len(listed))
    cancelled = await orders.cancel(second["order_number"], reason="Sold out")
    print("cancelled", cancelled["status"])

    async for event in client.events.list(order_number=number, size=2):
        print("event", event["sequence"], event["event"])
    page = await client.events.list(order_number=number).page()
    details = await client.events.get(page.content[0]["event_id"])
    print("details", details["event"]["event"])

    await print_error(orders.deliver(number))
    await print_error(orders.create(amount=4, **kurta))
    await print_error(orders.create(amount=7, idempotency_key=KEY, **kurta))


async def print_error(call: Awaitable[object]) -> None:
    try:
        await call
    except PayordersError as error:
        print("error", error.status, error.code, ",".join(error.fields))


async def main() -> None:
    async with AsyncClient(
        environment="sandbox",
        api_key=os.environ["PAYORDERS_API_KEY"],
        api_secret=os.environ["PAYORDERS_API_SECRET"],
        base_url=os.environ["PAYORDERS_BASE_URL"],
    ) as client:
        await live(client)


asyncio.run(main())
