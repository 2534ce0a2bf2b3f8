"""A webhook's address, request and errors; tests/commands/test_messages.py posts messages."""

import http.client
import threading
import urllib.request
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo import __version__
from kafka_clientinfo.commands import messages
from kafka_clientinfo.commands.messages import TOKEN, Webhook
from kafka_clientinfo.errors import ClientInfoError, ConfigError
from tests.commands.receiver import receiver


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://receiver.example/secret", "https://receiver.example"),
        ("https://receiver.example:8443/secret", "https://receiver.example:8443"),
        ("http://receiver.example?secret", "http://receiver.example"),
    ],
)
def test_an_address_is_shown_without_its_path(url: str, shown: str) -> None:
    assert Webhook(url).shown == shown


@pytest.mark.parametrize("url", ["http://h\u00f6st/", "http://host/\u00fc", "http://host/\x7f", "http://host/a b"])
def test_an_address_has_printable_ascii_without_blanks(url: str) -> None:
    with pytest.raises(ConfigError, match=r"; give an address such as https://receiver\.example/path$"):
        Webhook(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("foo", "foo"), ("", ""), ("receiver.example/secret", "receiver.example…"), ("user@secret", "user…"),
        ("receiver.example?secret", "receiver.example…"), ("/secret", "…"), ("a\x1b", "a\ufffd"),
    ],
)  # fmt: skip
def test_what_is_no_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Webhook(url)
    assert str(caught.value) == f"--webhook is {shown!r}; give an address such as https://receiver.example/path"


class Opener:
    """Stands for what opens addresses; notes each request and how long it waits."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.opened = error, list[tuple[Any, float]]()

    def open(self, request: Any, timeout: float) -> Any:
        self.opened.append((request, timeout))
        if self.error is not None:
            raise self.error
        return nullcontext()


def opened_by(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "build_opener", lambda *_: SimpleNamespace(open=opener.open))


def test_a_receiver_has_fifteen_seconds_to_take_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    opener = Opener()
    opened_by(opener, monkeypatch)
    Webhook("https://receiver.example/x").post({"a": 1})
    ((request, seconds),) = opener.opened
    assert (request.full_url, request.get_method(), request.data) == ("https://receiver.example/x", "POST", b'{"a": 1}')
    assert (request.headers["User-agent"], seconds) == (f"kafka-clientinfo/{__version__}", 15)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TimeoutError("timed out"), "did not answer in time: timed out"),
        (ConnectionResetError(104, "reset"), "is not reached: [Errno 104] reset"),
        (http.client.IncompleteRead(b""), "is not reached: IncompleteRead(0 bytes read)"),
        (TimeoutError(), "did not answer in time: TimeoutError"),
    ],
)
def test_why_a_receiver_is_not_reached_is_said(error: Exception, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_by(Opener(error), monkeypatch)
    with pytest.raises(ClientInfoError) as caught:
        Webhook("https://receiver.example/x").post({})
    assert str(caught.value) == f"the webhook at https://receiver.example {message}"


def test_a_receiver_that_does_not_answer_is_waited_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_SECONDS", 0.2)
    delay = threading.Event()
    with receiver(delay=delay) as (url, _), pytest.raises(ClientInfoError, match="did not answer in time"):
        Webhook(url).post({})


def test_a_receiver_that_is_not_there_is_named() -> None:
    with receiver() as (url, _):
        pass
    with pytest.raises(ClientInfoError, match=r"the webhook at http://127\.0\.0\.1:\d+ is not reached: "):
        Webhook(url).post({})


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("file:///etc/passwd", "has the scheme 'file'"),
        ("ftp://host/x", "has the scheme 'ftp'"),
        ("host/x", "--webhook is 'host…'; give an address such as https://"),
        ("http:///x", "the host ''"),
        ("http://host:port/x", "is no address"),
        ("http://[x/", "is no address"),
        ("http://host/a b", "give an address"),
        ("http://host/a\r\nX: y", "give an address"),
        ("http://user:pass@host/", "has a user or password in it"),
    ],
)
def test_addresses_that_are_none_are_named(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Webhook(url)
    assert says in str(caught.value)
    assert str(caught.value).startswith("--webhook ")
    assert "pass@" not in str(caught.value)


def test_a_token_that_no_header_can_have_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "s3cret\nX: y")
    with pytest.raises(ConfigError, match="holds characters that no header can have") as caught:
        Webhook("http://host/")
    assert "s3cret" not in str(caught.value)
