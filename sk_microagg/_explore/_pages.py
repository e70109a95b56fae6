"""The pages that are open, each with its own work."""

import asyncio
import json

from sk_microagg._cli._errors import CommandError
from sk_microagg._explore._workers import Worker

# Seconds after which something is sent, so that a closed page is noticed.
SECONDS_BETWEEN_SIGNS = 1.0

ALIVE = ": alive\n\n"
NOT_CONNECTED = "The connection of the page has ended: load it again."


class Pages:
    """The pages that are open. All methods are called in the thread of the server.

    Parameters
    ----------
    on_empty : callable
        Is called when the last page was closed.
    """

    def __init__(self, on_empty):
        self._pages = {}
        self._on_empty = on_empty
        self._is_ending = False

    def __len__(self):
        return len(self._pages)

    async def events(self, name):
        """Yield the messages for a page as server-sent events, until it is closed."""
        self._replace(name)
        page = self._pages[name] = _Page()
        try:
            while True:
                try:
                    message = await asyncio.wait_for(page.messages.get(), SECONDS_BETWEEN_SIGNS)
                except TimeoutError:
                    yield ALIVE
                    continue
                yield f"data: {json.dumps(message, allow_nan=False)}\n\n"
                if message["what"] == "server":
                    return
        finally:
            page.close()
            if self._pages.get(name) is page:
                del self._pages[name]
            if not self._pages:
                self._on_empty()

    async def start(self, name, what, arguments):
        """Start a job for a page, in the place of one of the same kind."""
        if name not in self._pages or self._is_ending:
            raise CommandError(NOT_CONNECTED)
        await self._pages[name].start(what, arguments)

    def cancel(self, name, what):
        """Cancel a job of a page, if it is running."""
        if name in self._pages:
            self._pages[name].cancel(what)

    async def end(self):
        """Tell all pages that the server ends, and wait until all work has ended."""
        self._is_ending = True
        pages = list(self._pages.values())
        for page in pages:
            page.close()
            page.messages.put_nowait({"what": "server", "state": "ended"})
        for page in pages:
            for what in list(page.workers):
                await page.stop(what)

    def _replace(self, name):
        """Take the place of a connection of the same page, if there is one."""
        page = self._pages.pop(name, None)
        if page is not None:
            page.close()
            page.messages.put_nowait({"what": "server", "state": "replaced"})


class _Page:
    """A page: its messages and its running jobs."""

    def __init__(self):
        self.messages = asyncio.Queue()
        self.workers = {}
        self.is_closed = False

    async def start(self, what, arguments):
        # While one job ends, another request may start the next one, and the page may be closed.
        while what in self.workers:
            await self.stop(what)
        if self.is_closed:
            raise CommandError(NOT_CONNECTED)
        loop = asyncio.get_running_loop()

        def hear(message):
            loop.call_soon_threadsafe(self._hear, what, worker, message)

        worker = self.workers[what] = Worker(what, arguments, hear)
        worker.start()

    def cancel(self, what):
        if what in self.workers:
            self.workers[what].cancel()

    def close(self):
        """Cancel all jobs; no more can be started."""
        self.is_closed = True
        for worker in self.workers.values():
            worker.cancel()

    async def stop(self, what):
        """Cancel a job, and wait until it has ended. Nothing more is heard of it."""
        worker = self.workers.pop(what, None)
        if worker is not None:
            worker.cancel()
            await asyncio.to_thread(worker.wait)

    def _hear(self, what, worker, message):
        if self.workers.get(what) is not worker:
            return
        if message["state"] != "running":
            del self.workers[what]
        self.messages.put_nowait({"what": what, **message})
