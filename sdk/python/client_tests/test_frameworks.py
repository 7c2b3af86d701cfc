"""The handlers in their frameworks, over the raw bytes. Needs flask, django, fastapi and httpx."""

import io
import unittest
from typing import Any

import django
import httpx
from django.http import HttpResponse
from django.test import Client as DjangoClient
from django.urls import path
from fastapi import FastAPI
from flask import Flask

from payorders import MemoryStore, django_handler, fastapi_handler, flask_handler, sign_test_event
from payorders.types import WebhookEvent

SECRET = "whsec_of_a_test"
EVENT = {"event": "ORDER_COMPLETED", "data": {"description": "परीक्षण", "amount": 5}}
urlpatterns: list[Any] = []


class Endless(io.RawIOBase):
    """A body without an end."""

    read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.read_bytes += len(buffer)
        buffer[:] = b" " * len(buffer)
        return len(buffer)


class FrameworksTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.handled: list[WebhookEvent] = []
        self.options: dict[str, Any] = {
            "secrets": SECRET,
            "store": MemoryStore(),
            "on_event": self.handled.append,
        }
        text, headers = sign_test_event(EVENT, SECRET)
        self.body, self.headers = text.encode(), dict(headers)

    def expect(self, statuses: list[int]) -> None:
        self.assertEqual(statuses, [200, 200, 401, 413])
        ids = [event["event_id"] for event in self.handled]
        self.assertEqual(ids, [self.headers["x-service-event-id"]])

    def bodies(self) -> tuple[bytes, bytes, bytes, bytes]:
        return self.body, self.body, self.body + b" ", b" " * (2 * 1024 * 1024)

    def test_flask(self) -> None:
        app = Flask(__name__)
        app.post("/hook")(flask_handler(**self.options))
        client = app.test_client()
        sent = [client.post("/hook", data=body, headers=self.headers) for body in self.bodies()]
        self.expect([response.status_code for response in sent])
        # Without a length, only the beginning is read.
        endless = Endless()
        chunked = {"wsgi.input": endless, "wsgi.input_terminated": True}
        response = client.post("/hook", headers=self.headers, environ_overrides=chunked)
        self.assertEqual(response.status_code, 413)
        self.assertLess(endless.read_bytes, 2 * 1024 * 1024)

    def test_django(self) -> None:
        # unittest looks at what a module imports, and these settings are not there before.
        from django.conf import settings

        settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"])
        django.setup()
        urlpatterns.append(path("hook", django_handler(**self.options)))
        client = DjangoClient(enforce_csrf_checks=True)
        del self.headers["content-type"]
        responses: list[HttpResponse] = [
            client.post("/hook", body, "application/json", headers=self.headers)
            for body in self.bodies()
        ]
        self.expect([response.status_code for response in responses])

    async def test_fastapi(self) -> None:
        app = FastAPI()
        app.post("/hook")(fastapi_handler(**self.options))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.example") as client:
            sent = [
                await client.post("/hook", content=body, headers=self.headers)
                for body in self.bodies()
            ]
        self.expect([response.status_code for response in sent])


if __name__ == "__main__":
    unittest.main()
