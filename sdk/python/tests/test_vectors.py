"""What every SDK and the service agree on."""

import json
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any

from payorders import PayordersError, WebhookVerificationError, format_paise, to_paise, verify
from payorders.errors import error_of
from payorders.retries import retry_delay_seconds
from payorders.settings import Credentials, assert_credentials, base_of, fault_of_key

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "test-vectors.json").read_text("utf-8")
)


class VectorsTest(unittest.TestCase):
    def test_webhooks(self) -> None:
        for vector in VECTORS["webhooks"]:
            body, headers, now = vector["body"], vector["headers"], vector["nowSeconds"]
            for raw_body in (body, body.encode()):
                with self.subTest(vector["name"], type=type(raw_body).__name__):
                    expected = vector["expect"]
                    try:
                        event = verify(raw_body, headers, vector["secrets"], now=now)
                        found = {"eventId": event["event_id"]}
                        self.assertIsInstance(event["data"]["amount"], Decimal)
                    except WebhookVerificationError as error:
                        found = {"mistake": error.mistake}
                    self.assertEqual(found, expected)

    def test_money(self) -> None:
        for vector in VECTORS["money"]:
            rupees, paise = vector["rupees"], vector["paise"]
            with self.subTest(rupees=rupees):
                if paise is None:
                    with self.assertRaises(ValueError):
                        to_paise(rupees)
                    continue
                self.assertEqual(to_paise(rupees), paise)
                self.assertEqual(to_paise(Decimal(rupees)), paise)
                self.assertEqual(to_paise(format_paise(paise)), paise)

    def test_retry_delays(self) -> None:
        for vector in VECTORS["retryDelays"]:
            retry, retry_after = vector["retry"], vector["retryAfter"]
            with self.subTest(retry=retry, retry_after=retry_after):
                least = retry_delay_seconds(retry, retry_after, lambda: 1)
                most = retry_delay_seconds(retry, retry_after, lambda: 0)
                self.assertEqual(least * 1000, vector["leastMs"])
                self.assertEqual(most * 1000, vector["mostMs"])

    def test_errors(self) -> None:
        for vector in VECTORS["errors"]:
            with self.subTest(vector["name"]):
                text = vector["body"]
                body = json.loads(text) if text.startswith("{") else None
                error = error_of(vector["status"], vector["headers"], body)
                found = {
                    "code": error.code,
                    "fields": error.fields,
                    "requestId": error.request_id,
                    "isRetryable": error.is_retryable,
                }
                self.assertEqual(found, vector["expect"])
                self.assertEqual(error.status, vector["status"])
                self.assertNotEqual(str(error), "")

    def test_keys(self) -> None:
        for vector in VECTORS["keys"]:
            keys = Credentials(vector["environment"], vector["apiKey"], vector["apiSecret"])
            with self.subTest(keys):
                if vector["isAccepted"]:
                    assert_credentials(keys)
                    continue
                with self.assertRaises(PayordersError) as raised:
                    assert_credentials(keys)
                well_formed = all(fault_of_key(key) is None for key in keys[1:])
                code = "WRONG_ENVIRONMENT" if well_formed else "MALFORMED_CREDENTIALS"
                self.assertEqual(raised.exception.code, code)
                for key in filter(None, keys[1:]):
                    self.assertNotIn(key.strip(), str(raised.exception))

    def test_base_urls(self) -> None:
        for text in ("https://pay.example.com", "https://pay.example.com/", "http://127.0.0.1:8080", "http://[::1]/a"):
            self.assertTrue(base_of(text, "production").endswith("/api/merchant/v1"))
        refused = (
            "pay.example.com",
            "",
            "https://",
            "https://pay.example.com\n",
            " https://pay.example.com",
            "ftp://pay.example.com",
            "https://pay.example.com:port",
            "https://user:word@pay.example.com",
            "https://pay.example.com?",
            "https://pay.example.com/#a",
            "https://pay.example.com/api/merchant/v1",
            "http://pay.example.com",
        )
        for text in refused:
            with self.subTest(text):
                with self.assertRaises(PayordersError) as raised:
                    base_of(text, "production")
                self.assertEqual(raised.exception.code, "MALFORMED_BASE_URL")
        self.assertTrue(base_of("http://pay.example.com", "sandbox"))


if __name__ == "__main__":
    unittest.main()
