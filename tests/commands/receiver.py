"""A receiver of posts on this machine, which notes what it gets."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar


class Receiver(BaseHTTPRequestHandler):
    answer: ClassVar[int] = 204
    after: ClassVar[int] = 0
    """Requests that get 204 before."""
    delay: ClassVar[threading.Event | None] = None
    got: ClassVar[list[tuple[str, dict[str, str], Any]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.got.append((self.path, dict(self.headers), json.loads(body or b"null")))
        if self.delay:
            self.delay.wait(10)
        self.send_response(self.answer if len(self.got) > self.after else 204)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def receiver(
    answer: int = 204, after: int = 0, delay: threading.Event | None = None
) -> Iterator[tuple[str, list[Any]]]:
    kind = type("R", (Receiver,), {"answer": answer, "after": after, "delay": delay, "got": []})
    server = HTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hooks/secret-path", kind.got
    finally:
        if delay:
            delay.set()
        server.shutdown()
        thread.join()
        server.server_close()
