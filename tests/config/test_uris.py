"""Credentials in the URIs of logs and warehouses are refused, and never shown."""

import pytest

from kafka_clientinfo.config.uris import Uri, parsed_uri
from kafka_clientinfo.errors import ConfigError

REFUSED = {
    "s3://AKIAKEY:s3cret%2Fkey@bucket/a": "s3://bucket/a holds a password;",
    "s3a://bucket/a?region=x&access_key=s3cret": "s3a://bucket/a holds a key, the option access_key;",
    "s3://bucket/a?session_token=s3cret": "s3://bucket/a holds a key, the option session_token;",
    "abfss://logs:s3cret:s3cret@a/b": "abfss://logs@a/b holds a password;",
    "sftp://me@example.org:s3cret@host/a": "sftp://host/a holds a password;",
    "abfs://logs@a/b?sv=1&SIG=s3cret": "abfs://logs@a/b holds a key, the option SIG;",
    "x1://host/a?password=s3cret": "x1://host/a holds a key, the option password;",
    "x1://host/a?client_secret=s3cret": "x1://host/a holds a key, the option client_secret;",
}
"""URIs, each with how the error begins."""
ALLOWED = {
    "s3://bucket/a:b@c": "s3://bucket/a:b@c", "s3://bucket/what?.log": "s3://bucket/what?.log",
    "S3://b/a?region=x&scheme=http&endpoint_override=h%3A9": "s3://b/a", "gs://anonymous@lake/w": "gs://lake/w",
    "abfss://logs@host/a?enable_tls=false&sv=1&sp=rl": "abfss://logs@host/a", "sftp://me@host/a": "sftp://host/a",
    "hdfs://namenode:8020": "hdfs://namenode:8020", "s3://bucket/a?design=x&assigned=y": "s3://bucket/a",
    "abfss://host/a": "abfss://host/a", "wasb://logs@host/a": "wasb://logs@host/a",
    "wasbs://logs@host/a": "wasbs://logs@host/a",
}  # fmt: skip


def uri_of(text: str) -> Uri:
    uri = parsed_uri(text)
    assert uri is not None
    return uri


@pytest.mark.parametrize("text", REFUSED)
def test_credentials_are_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        uri_of(text).check()
    assert str(error.value).startswith(REFUSED[text])
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_no_secret_is_allowed_and_not_shown(text: str) -> None:
    uri = uri_of(text)
    uri.check()
    assert uri.shown == ALLOWED[text]


@pytest.mark.parametrize("text", ["/logs/a", "C://x", "logs", "schema:x", "a/s3://b", ""])
def test_a_path_is_no_uri(text: str) -> None:
    assert parsed_uri(text) is None
