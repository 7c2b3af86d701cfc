"""A webhook is handled once, and again after a failure."""

import asyncio
import threading
import unittest

from payorders import MemoryStore, sign_test_event
from payorders.handlers import AsyncReceiver, Receiver
from payorders.types import WebhookEvent

SECRET = "whsec_of_a_test"


class ReceiverTest(unittest.TestCase):
    def test_what_failed_is_handled_again_and_what_succeeded_is_not(self) -> None:
        handled: list[str] = []
        errors: list[Exception] = []

        def on_event(event: WebhookEvent) -> None:
            handled.append(event["event_id"])
            if len(handled) == 1:
                raise RuntimeError("The database is away")

        receiver = Receiver(
            secrets=["whsec_old", SECRET],
            on_event=on_event,
            store=MemoryStore(),
            on_error=errors.append,
        )
        body, headers = sign_test_event({"event": "ORDER_COMPLETED"}, SECRET)
        replies = [receiver.receive(body.encode(), headers) for _ in range(3)]
        self.assertEqual([status for status, _ in replies], [500, 200, 200])
        self.assertEqual(len(handled), 2)
        forged = receiver.receive(body.encode() + b" ", headers)
        self.assertEqual(forged, (401, "reserialised"))
        large = receiver.receive(b" " * (1024 * 1024 + 1), headers)
        self.assertEqual(large, (413, "too large"))
        self.assertEqual(len(errors), 3)

    def test_a_repeat_at_the_same_moment_waits_for_the_first(self) -> None:
        handled: list[str] = []
        begun, may_end = threading.Event(), threading.Event()

        def on_event(event: WebhookEvent) -> None:
            begun.set()
            may_end.wait()
            handled.append(event["event_id"])

        receiver = Receiver(secrets=SECRET, on_event=on_event, store=MemoryStore())
        body, headers = sign_test_event({"event": "ORDER_COMPLETED"}, SECRET)
        statuses: list[int] = []

        def receive() -> None:
            statuses.append(receiver.receive(body.encode(), headers).status)

        threads = [threading.Thread(target=receive) for _ in range(5)]
        threads[0].start()
        begun.wait()
        for thread in threads[1:]:
            thread.start()
        may_end.set()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [200] * 5)
        self.assertEqual(len(handled), 1)


class AsyncReceiverTest(unittest.IsolatedAsyncioTestCase):
    async def test_repeats_at_the_same_moment_are_handled_once_and_a_failure_again(self) -> None:
        calls = 0

        async def on_event(_: WebhookEvent) -> None:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0)
            if calls == 1:
                raise RuntimeError("The database is away")

        class SlowStore:
            def __init__(self) -> None:
                self._known = MemoryStore()

            async def has(self, event_id: str) -> bool:
                found = self._known.has(event_id)
                for _ in range(5):
                    await asyncio.sleep(0)
                return found

            async def add(self, event_id: str) -> None:
                await asyncio.sleep(0)
                self._known.add(event_id)

        receiver = AsyncReceiver(secrets=SECRET, on_event=on_event, store=SlowStore())
        body, headers = sign_test_event({"event": "ORDER_COMPLETED"}, SECRET)

        async def send() -> int:
            return (await receiver.receive(body.encode(), headers)).status

        self.assertEqual(await send(), 500)
        self.assertEqual(await asyncio.gather(send(), send(), send()), [200, 200, 200])
        self.assertEqual(await send(), 200)
        self.assertEqual(calls, 2)

    async def test_an_event_is_handled_to_its_end_when_the_sender_hangs_up(self) -> None:
        begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def on_event(_: WebhookEvent) -> None:
            begun.set()
            await may_end.wait()
            ended.set()

        receiver = AsyncReceiver(secrets=SECRET, on_event=on_event, store=MemoryStore())
        body, headers = sign_test_event({"event": "ORDER_COMPLETED"}, SECRET)
        request = asyncio.create_task(receiver.receive(body.encode(), headers))
        await begun.wait()
        request.cancel()
        may_end.set()
        await ended.wait()


class MemoryStoreTest(unittest.TestCase):
    def test_it_forgets_the_oldest(self) -> None:
        store = MemoryStore(most_events=2)
        for event_id in ("a", "b", "c"):
            store.add(event_id)
        self.assertEqual([store.has(one) for one in ("a", "b", "c")], [False, True, True])


if __name__ == "__main__":
    unittest.main()
