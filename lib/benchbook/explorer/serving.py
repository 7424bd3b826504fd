"""The explorer's server, a process of its own: Voila, where each page has a kernel that ends with it, three at most."""

import os
from asyncio import Lock, sleep
from time import monotonic
from typing import Any, Final

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado.ioloop import IOLoop
from tornado.routing import HostMatches
from tornado.web import HTTPError, authenticated
from voila.app import Voila
from voila.tornado.handler import TornadoVoilaHandler
from voila.voila_kernel_manager import voila_kernel_manager_factory

from benchbook import explorer

PAGES: Final = 3
"""How many may be open: the kernel of each takes some 400 MB."""

_OPENS_S: Final = 60.0
"""How long a page may take from its address to the first word to its kernel."""

_RETURNS_S: Final = 15.0
"""How long a page may be cut off from its kernel: after a machine's sleep, say, it tries again in growing intervals."""

_LEAVES_S: Final = 5.0
"""How long a page waits for the place of one that seems to be leaving, such as itself before it was loaded anew."""

_LOOKS_S: Final = 0.1

_HERE: Final = r"(127\.0\.0\.1|localhost)$"

_FULL: Final = f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="2">
<title>Explorer</title>
<style>
:root {{color-scheme: light dark}}
body {{font: 1rem/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 36rem; padding: 0 1rem}}
</style>
<h1>Explorer</h1>
<p role="status">The explorer is open in {PAGES} pages, and each takes some 400 MB of memory.
Close one of them: this page then opens by itself.</p>
</html>
"""


class _FullError(Exception):
    """As many pages are open as may be."""


_Pooled: Any = voila_kernel_manager_factory(AsyncMappingKernelManager, preheat_kernel=True, default_pool_size=1)
"""Voila's kernels with one that has run the notebook before a page asks for it."""


class Kernels(_Pooled):  # type: ignore[misc]
    """A kernel for each page that is open, and while a page more may come one that waits for it: never over `PAGES`."""

    def __init__(self, **options: Any) -> None:
        self._of_pages: set[str] = set()
        self._next_page = Lock()
        self._closed = False
        super().__init__(**options)

    @property
    def pages(self) -> set[str]:
        """The kernels that were given to pages, until their processes are gone."""
        self._of_pages.intersection_update(self.list_kernel_ids())
        return self._of_pages

    async def get_rendered_notebook(self, notebook_name: str, **options: Any) -> Any:
        """Give a page the kernel that waits for it; `_FullError` when too many have one, and none of those leaves."""
        async with self._next_page:
            begun = monotonic()
            while len(self.pages) >= PAGES:
                if all(map(self._kernel_connections.get, self.pages)) or monotonic() - begun > _LEAVES_S:
                    raise _FullError
                await sleep(_LOOKS_S)
            self.fill_if_needed(0, notebook_name)  # where the last one could not be started
            rendered = await super().get_rendered_notebook(notebook_name, **options)
            *_, kernel = rendered
            self._of_pages.add(kernel)
        IOLoop.current().call_later(_OPENS_S, self._end, kernel)
        return rendered

    async def _initialize(self, notebook_path: str, kernel_id: str | None = None, **options: Any) -> Any:
        while len(self.pages) >= PAGES and not self._closed:
            await sleep(_LOOKS_S)
        if self._closed:
            raise _FullError
        return await super()._initialize(notebook_path, kernel_id, **options)

    def notify_disconnect(self, kernel_id: str) -> None:
        """End a kernel whose page does not come back: the page's own word is lost when its browser dies."""
        super().notify_disconnect(kernel_id)
        IOLoop.current().call_later(_RETURNS_S, self._end, kernel_id)

    async def _end(self, kernel_id: str) -> None:
        if kernel_id in self and not self._kernel_connections.get(kernel_id):
            await self.shutdown_kernel(kernel_id)

    async def shutdown_all(self, *arguments: Any, **options: Any) -> None:
        """End all kernels, and start none any more."""
        self._closed = True
        await super().shutdown_all(*arguments, **options)


class _Page(TornadoVoilaHandler):  # type: ignore[misc]
    """The page, as Voila serves it, to who names the token; with a line where it cannot have a kernel."""

    def should_use_rendered_notebook(self, *_: object) -> bool:
        """Return that it takes the kernel that waits, whatever the address asks besides."""
        return True

    @authenticated
    async def get(self, path: str | None = None) -> None:
        """Send it, and the cookie without which the request that ends its kernel is refused (403)."""
        if not self.check_origin():
            raise HTTPError(403)
        _ = self.xsrf_token
        try:
            await super().get(path)
        except _FullError:
            self.set_status(503)
            self.finish(_FULL)


class Server(Voila):  # type: ignore[misc]
    """Voila, with these kernels and pages, and for requests that name this machine: others come by a foreign name."""

    def init_settings(self) -> Any:
        """Return Voila's settings, with the kernels of above.

        Voila's own pool comes with a socket that gives a page's address, and the token in it, to anybody who names its
        kernel, whose name is on a command line.
        """
        settings = super().init_settings()
        self.kernel_manager: Any = Kernels(
            parent=self,
            connection_dir=self.connection_dir,
            kernel_spec_manager=self.kernel_spec_manager,
            allowed_message_types=settings["kernel_manager"].allowed_message_types,
        )
        return {**settings, "kernel_manager": self.kernel_manager}

    def init_handlers(self) -> list[Any]:
        """Return Voila's handlers, with the page of above."""
        voila = super().init_handlers()
        handlers = [(path, _Page if kind is TornadoVoilaHandler else kind, *more) for path, kind, *more in voila]
        return [(HostMatches(_HERE), handlers)]


if __name__ == "__main__":
    # a file of settings in the folder where the command is typed could be anybody's
    Server.launch_instance(token=os.environ.pop(explorer.TOKEN), config_file_paths=[])
