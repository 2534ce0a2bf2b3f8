"""A webhook's address, request and errors; tests/commands/test_messages.py posts messages."""

import http.client
import threading
import urllib.request
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo import __version__
from kafka_clientinfo.commands import messages
from kafka_clientinfo.commands.messages import TOKEN, Webhook
from kafka_clientinfo.errors import ClientInfoError, ConfigError
from tests.commands.receiver import receiver

EXAMPLE = "; give an address such as https://receiver.example/path"


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


@pytest.mark.parametrize(
    ("url", "says"),
    [
        *((url, f" is {shown!r}{EXAMPLE}") for url, shown in (
            ("foo", "foo"), ("", ""), ("receiver.example/secret", "receiver.example…"), ("user@secret", "user…"),
            ("receiver.example?secret", "receiver.example…"), ("/secret", "…"), ("a\x1b", "a\ufffd"),
        )),
        *((url, EXAMPLE) for url in ("http://h\u00f6st/", "http://host/\x7f", "http://host/a b", "http://host/a\r\nX: y")),
        ("file:///etc/passwd", " has the scheme 'file'"),
        ("http:///x", "the host ''"),
        ("http://host:port/x", " is no address"),
        ("http://[x/", " is no address"),
        ("http://user:pass@host/", " has a user or password in it"),
    ],
)  # fmt: skip
def test_addresses_that_are_none_are_named_without_what_may_be_secret(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Webhook(url)
    assert str(caught.value).startswith("--webhook ")
    assert says in str(caught.value)
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TimeoutError("timed out"), "did not answer in time: timed out"),
        (ConnectionResetError(104, "reset"), "is not reached: [Errno 104] reset"),
        (http.client.IncompleteRead(b""), "is not reached: IncompleteRead(0 bytes read)"),
        (TimeoutError(), "did not answer in time: TimeoutError"),
    ],
)
def test_a_receiver_has_fifteen_seconds_and_why_it_is_not_reached_is_said(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[Any, float]] = []

    def refuse(request: Any, timeout: float) -> None:
        opened.append((request, timeout))
        raise error

    monkeypatch.delenv(TOKEN, raising=False)
    monkeypatch.setattr(urllib.request, "build_opener", lambda *_: SimpleNamespace(open=refuse))
    with pytest.raises(ClientInfoError) as caught:
        Webhook("https://receiver.example/x").post({"a": 1})
    assert str(caught.value) == f"the webhook at https://receiver.example {message}"
    ((request, seconds),) = opened
    assert (request.full_url, request.get_method(), request.data) == ("https://receiver.example/x", "POST", b'{"a": 1}')
    assert (request.headers["User-agent"], seconds) == (f"kafka-clientinfo/{__version__}", 15)


def test_a_receiver_that_does_not_answer_or_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_SECONDS", 0.2)
    with (
        receiver(delay=threading.Event()) as (url, _),
        pytest.raises(ClientInfoError, match="did not answer in time"),
    ):
        Webhook(url).post({})
    with pytest.raises(ClientInfoError, match=r"the webhook at http://127\.0\.0\.1:\d+ is not reached: "):
        Webhook(url).post({})


def test_a_token_that_no_header_can_have_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "s3cret\nX: y")
    with pytest.raises(ConfigError, match="holds characters that no header can have") as caught:
        Webhook("http://host/")
    assert "s3cret" not in str(caught.value)
