"""An order goes through its life in the sandbox.

``PAYORDERS_API_KEY``, ``PAYORDERS_API_SECRET`` and ``PAYORDERS_BASE_URL`` are what ``npm start`` prints.
"""

import os
import uuid
from collections.abc import Callable

from payorders import Client, PayordersError, format_paise, to_paise

BUYER = {
    "buyer_email": "asha@example.com",
    "buyer_phone": "+919876543210",
    "description": "Blue kurta, size M",
}
# The id of your own order, which you save first.
SHOP_ORDER = f"SHOP-{uuid.uuid4()}"


def live(client: Client) -> None:
    key = f"{SHOP_ORDER}-create"
    order = client.orders.create(
        amount="499.50", merchant_order_id=SHOP_ORDER, idempotency_key=key, **BUYER
    )
    number = order["order_number"]
    print("created", order["status"], format_paise(to_paise(order["amount"])))

    # The same call returns the same order: after a crash, too.
    again = client.orders.create(
        amount="499.50", merchant_order_id=SHOP_ORDER, idempotency_key=key, **BUYER
    )
    print("again", again["order_number"] == number)

    print("paid", client.sandbox.pay(number)["status"])
    print("delivered", client.orders.deliver(number, tracking_id="IN1")["status"])
    print("disputed", client.sandbox.dispute(number, reason="It never arrived here")["status"])
    evidence = client.disputes.submit_evidence(number, text="A photo of the delivery")
    print("evidence", evidence["status"])
    resolved = client.disputes.resolve(number, resolution="A new one is on its way")
    print("resolved", resolved["status"])
    upcoming = client.orders.timeline(number)["next"]
    print("next", upcoming and upcoming["action"])

    # A 500 after the work was done: the client repeats the call, and nothing is done twice.
    client.sandbox.fail_after_work()
    second = client.orders.create(amount=5, merchant_order_id=SHOP_ORDER, **BUYER)
    opened = client.orders.open_payment_session(second["order_number"])
    session = client.orders.get_payment_session(second["order_number"], opened["session_id"])
    print("session", session["status"])
    print("listed", sum(1 for _ in client.orders.list(merchant_order_id=SHOP_ORDER, size=1)))
    print("cancelled", client.orders.cancel(second["order_number"], reason="Sold out")["status"])

    for event in client.events.list(order_number=number, size=2):
        print("event", event["sequence"], event["event"])
    first = client.events.list(order_number=number).page().content[0]
    details = client.events.get(first["event_id"])
    print("details", details["event"]["event"])

    print_error(lambda: client.orders.deliver(number))
    print_error(lambda: client.orders.create(amount=4, **BUYER))
    print_error(lambda: client.orders.create(amount=7, idempotency_key=key, **BUYER))


def print_error(call: Callable[[], object]) -> None:
    try:
        call()
    except PayordersError as error:
        print("error", error.status, error.code, ",".join(error.fields))


with Client(
    environment="sandbox",
    api_key=os.environ["PAYORDERS_API_KEY"],
    api_secret=os.environ["PAYORDERS_API_SECRET"],
    base_url=os.environ["PAYORDERS_BASE_URL"],
) as client:
    live(client)
