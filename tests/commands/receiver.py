"""A receiver of posts on this machine, which notes what it gets."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@contextmanager
def receiver(
    answer: int = 204, after: int = 0, delay: threading.Event | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """Serve until the block ends; `after` is a number of requests that get 204 before `answer`."""
    got: list[tuple[str, dict[str, str], Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            got.append((self.path, dict(self.headers), json.loads(body or b"null")))
            if delay:
                delay.wait(10)
            self.send_response(answer if len(got) > after else 204)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hooks/secret-path", got
    finally:
        if delay:
            delay.set()
        server.shutdown()
        thread.join()
        server.server_close()
