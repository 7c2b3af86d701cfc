"""The clients against a service that is played here. Needs httpx."""

import json
import traceback
import unittest
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx

from payorders import AsyncClient, Client, PayordersError

KEYS: dict[str, Any] = {
    "environment": "sandbox",
    "api_key": "mk_test_a",
    "api_secret": "sk_test_a",
    "base_url": "http://service.example/",
}
ORDER: dict[str, Any] = {
    "buyer_email": "asha@example.com",
    "buyer_phone": "+919876543210",
    "description": "Blue kurta, size M",
}

Answer = httpx.Response | Exception


def shown(data: object, **headers: str) -> httpx.Response:
    body = {"success": True, "message": "ok", "data": data}
    return httpx.Response(200, text=json.dumps(body), headers=headers)


class Service:
    """Gives one answer after the other, and keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = iter(answers)
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self) -> Client:
        http = httpx.Client(transport=httpx.MockTransport(self._answer))
        return Client(**KEYS, http=http, sleep=self.waits.append)

    def async_client(self) -> AsyncClient:
        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        return AsyncClient(**KEYS, http=http, sleep=sleep)

    def keys(self) -> list[str]:
        return [request.headers["Idempotency-Key"] for request in self.requests]


def lost() -> Exception:
    return httpx.ReadError("The connection was lost")


def failing(status: int, **headers: str) -> httpx.Response:
    return httpx.Response(status, text="", headers=headers)


class ClientTest(unittest.TestCase):
    def test_all_attempts_of_one_call_have_one_key_and_the_same_body(self) -> None:
        service = Service(lost(), failing(500), shown({"amount": 499.5}))
        with service.client() as client:
            order = client.orders.create(amount="499.50", **ORDER)
        self.assertEqual(order["amount"], Decimal("499.5"))
        self.assertIsInstance(order["amount"], Decimal)
        self.assertEqual(len(set(service.keys())), 1)
        self.assertEqual(len({request.content for request in service.requests}), 1)
        sent = json.loads(service.requests[0].content)
        self.assertEqual(sent["amount"], 499.5)
        self.assertNotIn("returnUrl", sent)
        self.assertEqual(str(service.requests[0].url.path), "/sandbox/api/merchant/v1/orders")

    def test_it_waits_as_long_as_it_says_or_as_the_service_asks(self) -> None:
        answers = (failing(502), failing(429, **{"Retry-After": "30"}), lost(), failing(500))
        service = Service(*answers, shown({}))
        service.client().orders.get("ORD1")
        first, asked, third, fourth = service.waits
        self.assertTrue(0.75 <= first <= 1 and 3 <= third <= 4 and 6 <= fourth <= 8)
        self.assertEqual(asked, 30)

    def test_what_cannot_succeed_is_sent_once_and_what_can_five_times(self) -> None:
        for status, code, attempts in ((404, "HTTP_404", 1), (302, "HTTP_302", 1), (502, "HTTP_502", 5)):
            service = Service(*[failing(status) for _ in range(5)])
            with self.assertRaises(PayordersError) as raised:
                service.client().orders.get("ORD1")
            self.assertEqual(raised.exception.code, code)
            self.assertEqual(len(service.requests), attempts)

    def test_no_response_is_an_error_with_its_cause(self) -> None:
        service = Service(*[lost() for _ in range(5)])
        with self.assertRaises(PayordersError) as raised:
            service.client().orders.get("ORD1")
        error = raised.exception
        self.assertEqual((error.status, error.code, error.is_retryable), (0, "NO_RESPONSE", True))
        self.assertIsInstance(error.__cause__, httpx.ReadError)

    def test_a_key_with_another_body_is_an_error(self) -> None:
        service = Service(shown({}, **{"Idempotency-Key-Mismatch": "true", "X-Request-Id": "r"}))
        with self.assertRaises(PayordersError) as raised:
            service.client().orders.create(amount=5, **ORDER, idempotency_key="k")
        self.assertEqual(raised.exception.code, "IDEMPOTENCY_KEY_MISMATCH")
        self.assertEqual(raised.exception.request_id, "r")
        self.assertEqual(service.keys(), ["k"])

    def test_a_secret_with_a_line_break_is_refused_at_once_and_never_shown(self) -> None:
        service = Service()
        for secret in ("sk_test_abc\n", ' sk_test_abc', '"sk_test_abc"', ""):
            changed = {**KEYS, "api_secret": secret}
            for make in (Client, AsyncClient):
                with self.assertRaises(PayordersError) as raised:
                    make(**changed)
                self.assertEqual(raised.exception.code, "MALFORMED_CREDENTIALS")
                self.assertNotIn("sk_test_abc", str(raised.exception))
        self.assertEqual(service.requests, [])

    def test_a_base_url_that_cannot_be_asked_is_refused_at_once(self) -> None:
        for base_url in ("pay.example.com", "https://" + 70_000 * "a", "https://pay.example.com?", "https://a\x00b"):
            with self.subTest(base_url[:30]):
                with self.assertRaises(PayordersError) as raised:
                    Client(**{**KEYS, "base_url": base_url})
                self.assertEqual(raised.exception.code, "MALFORMED_BASE_URL")

    def test_a_malformed_idempotency_key_is_refused_before_the_request(self) -> None:
        for key in ("", "a b", "k\n", "की", "k" * 256):
            service = Service()
            with self.subTest(key):
                with self.assertRaises(PayordersError) as raised:
                    service.client().orders.create(amount=5, **ORDER, idempotency_key=key)
                self.assertEqual(raised.exception.code, "MALFORMED_IDEMPOTENCY_KEY")
                self.assertEqual(service.requests, [])

    def test_no_error_has_the_keys(self) -> None:
        quoting = httpx.LocalProtocolError("Illegal header value b'sk_test_a' and b'mk_test_a'")
        service = Service(quoting)
        with self.assertRaises(PayordersError) as raised:
            service.client().orders.get("ORD1")
        shown_text = "".join(traceback.format_exception(raised.exception))
        self.assertEqual(raised.exception.code, "NO_RESPONSE")
        self.assertIn("Illegal header value", shown_text)
        self.assertNotIn("_test_a", shown_text)

    def test_what_proxies_answer_is_sent_again_with_the_same_key(self) -> None:
        page = httpx.Response(200, text="<h1>Sorry</h1>")
        service = Service(failing(503), page, failing(504), shown({}))
        created = service.client().orders.create(amount=5, **ORDER)
        self.assertIs(created["replayed"], False)
        self.assertEqual(len(service.keys()), 4)
        self.assertEqual(len(set(service.keys())), 1)

    def test_a_replay_is_visible(self) -> None:
        service = Service(shown({"status": "CANCELLED"}, **{"Idempotent-Replayed": "true"}))
        created = service.client().orders.create(amount=5, **ORDER, idempotency_key="k")
        self.assertEqual((created["status"], created["replayed"]), ("CANCELLED", True))

    def test_amounts_are_refused_before_the_request(self) -> None:
        service = Service()
        with self.assertRaises(ValueError):
            service.client().orders.create(amount="499.505", **ORDER)
        self.assertEqual(service.requests, [])

    def test_a_list_is_read_to_its_end(self) -> None:
        pages = (
            {"content": [{"order_number": "1"}], "next": "a"},
            {"content": [], "next": "b"},
            {"content": [{"order_number": "2"}], "next": None},
        )
        service = Service(*map(shown, pages))
        found = [one["order_number"] for one in service.client().orders.list(status="PAID", size=1)]
        self.assertEqual(found, ["1", "2"])
        queries = [dict(request.url.params) for request in service.requests]
        filters = {"status": "PAID", "size": "1"}
        self.assertEqual(queries, [filters, {**filters, "after": "a"}, {**filters, "after": "b"}])

    def test_a_list_of_events_ends_where_its_cursor_stays(self) -> None:
        service = Service(shown({"content": [], "next": "end"}))
        self.assertEqual(list(service.client().events.list(after="end")), [])

    def test_an_order_number_stays_one_part_of_the_path(self) -> None:
        service = Service(shown({}))
        service.client().orders.get("../events?x")
        path = service.requests[0].url.raw_path
        self.assertEqual(path, b"/sandbox/api/merchant/v1/orders/..%2Fevents%3Fx")

    def test_test_helpers_are_refused_for_production_before_a_request(self) -> None:
        live: dict[str, Any] = {
            "environment": "production",
            "api_key": "mk_live_a",
            "api_secret": "sk_live_a",
            "base_url": "https://service.example",
        }
        for client in (Client(**live), AsyncClient(**live)):
            with self.assertRaises(PayordersError) as raised:
                client.sandbox
            self.assertEqual(raised.exception.code, "WRONG_ENVIRONMENT")


class AsyncClientTest(unittest.IsolatedAsyncioTestCase):
    async def test_all_attempts_of_one_call_have_one_key(self) -> None:
        service = Service(lost(), failing(500), shown({"amount": 5}))
        async with service.async_client() as client:
            order = await client.orders.create(amount=Decimal("5.00"), **ORDER)
        self.assertEqual(repr(order["amount"]), "Decimal('5')")
        self.assertEqual(len(service.keys()), 3)
        self.assertEqual(len(set(service.keys())), 1)
        self.assertEqual(len(service.waits), 2)

    async def test_a_list_is_read_to_its_end(self) -> None:
        pages = (
            {"content": [{"event_id": "1"}], "next": "a"},
            {"content": [{"event_id": "2"}], "next": "b"},
            {"content": [], "next": "b"},
        )
        client = Service(*map(shown, pages)).async_client()
        found = [event["event_id"] async for event in client.events.list()]
        self.assertEqual(found, ["1", "2"])
        page = await Service(shown(pages[0])).async_client().events.list().page()
        self.assertEqual(page.next, "a")


if __name__ == "__main__":
    unittest.main()
