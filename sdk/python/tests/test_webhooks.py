"""What the vectors cannot say of webhooks."""

import unittest
from decimal import Decimal
from typing import Any

from payorders import WebhookVerificationError, sign_test_event, verify

SECRET = "whsec_of_a_test"
NOW = 1_795_167_000


class VerifyTest(unittest.TestCase):
    def mistake_of(self, body: Any, headers: dict[str, str], secrets: Any = SECRET) -> str:
        with self.assertRaises(WebhookVerificationError) as raised:
            verify(body, headers, secrets, now=NOW)
        return raised.exception.mistake

    def test_a_signed_event_is_verified_with_exact_amounts_and_headers_in_any_case(self) -> None:
        data = {"amount": 500, "description": "परीक्षण", "payment": {"reversed_amount": Decimal("0.10")}}
        body, headers = sign_test_event({"event": "ORDER_COMPLETED", "data": data}, SECRET, now=NOW)
        capitals = {name.upper(): value for name, value in headers.items()}
        event: Any = verify(body, capitals, ["whsec_old", SECRET], now=NOW)
        self.assertEqual(event["event_id"], headers["x-service-event-id"])
        self.assertEqual(event["timestamp"], "2026-11-20T09:30:00.000Z")
        amounts = [event["data"]["amount"], event["data"]["payment"]["reversed_amount"]]
        self.assertEqual(amounts, [Decimal(500), Decimal("0.1")])
        self.assertEqual({type(amount) for amount in amounts}, {Decimal})

    def test_a_parsed_body_is_named_as_the_mistake(self) -> None:
        _, headers = sign_test_event({"event": "TEST"}, SECRET, now=NOW)
        self.assertEqual(self.mistake_of({"event": "TEST"}, dict(headers)), "parsed_body")

    def test_an_empty_secret_never_fits(self) -> None:
        body, headers = sign_test_event({"event": "ORDER_COMPLETED"}, "", now=NOW)
        for secrets in ("", [""], [SECRET, ""]):
            self.assertEqual(self.mistake_of(body, dict(headers), secrets), "wrong_secret")

    def test_a_hostile_body_is_a_wrong_secret(self) -> None:
        _, headers = sign_test_event({"event": "ORDER_COMPLETED"}, SECRET, now=NOW)
        bodies = (b"\xff\xfe", b"[" * 100_000, b"9" * 10_000, b"1e999", b'"\\ud800"', "\ud800", b"")
        for body in bodies:
            self.assertEqual(self.mistake_of(body, dict(headers)), "wrong_secret")

    def test_a_large_body_without_a_valid_signature_is_not_parsed(self) -> None:
        data = {"description": "a" * 70_000}
        body, headers = sign_test_event({"event": "ORDER_COMPLETED", "data": data}, SECRET, now=NOW)
        self.assertEqual(self.mistake_of(body + " ", dict(headers)), "wrong_secret")
        self.assertEqual(self.mistake_of(body + " ", dict(headers), f"{SECRET}\n"), "malformed_secret")

    def test_a_header_may_be_a_list_of_one_text(self) -> None:
        body, headers = sign_test_event({"event": "ORDER_COMPLETED"}, SECRET, now=NOW)
        listed = {name: [value] for name, value in headers.items()}
        self.assertEqual(verify(body, listed, SECRET, now=NOW)["event"], "ORDER_COMPLETED")
        twice: Any = {name: [value, value] for name, value in headers.items()}
        self.assertEqual(self.mistake_of(body, twice), "missing_header")

    def test_digits_of_other_scripts_are_malformed(self) -> None:
        body, headers = sign_test_event({"event": "ORDER_COMPLETED"}, SECRET, now=NOW)
        odd = {**headers, "x-service-timestamp": "१७९५१६७०००"}
        self.assertEqual(self.mistake_of(body, odd), "missing_header")


if __name__ == "__main__":
    unittest.main()
