"""Credentials in the URIs of logs and warehouses are refused, and never shown."""

import pytest

from kafka_clientinfo.config.uris import Uri, parsed_uri
from kafka_clientinfo.errors import ConfigError

REFUSED = {
    "s3://AKIAKEY:s3cret%2Fkey@bucket/a": (
        "s3://bucket/a holds a password;",
        "AWS_SECRET_ACCESS_KEY",
        "fs.s3a.secret.key",
    ),
    "s3a://bucket/a?region=x&access_key=s3cret": (
        "s3a://bucket/a holds a key, the option access_key;",
        "AWS_",
        "fs.s3a.access",
    ),
    "s3://bucket/a?session_token=s3cret": ("s3://bucket/a holds a key, the option session_token;", "AWS_", "fs.s3a."),
    "gs://me:s3cret@bucket": (
        "gs://bucket holds a password;",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "service.account.json",
    ),
    "abfss://logs:s3cret@a/b": ("abfss://logs@a/b holds a password;", "AZURE_CLIENT_SECRET", "azure.account.key"),
    "abfss://logs:s3cret:s3cret@a/b": (
        "abfss://logs@a/b holds a password;",
        "AZURE_CLIENT_SECRET",
        "azure.account.key",
    ),
    "sftp://me@example.org:s3cret@host/a": ("sftp://host/a holds a password;", "~/.config/fsspec", "spark.hadoop.fs."),
    "abfs://logs@a/b?sv=1&SIG=s3cret": ("abfs://logs@a/b holds a key, the option SIG;", "az://CONTAINER", "azure.sas"),
    "sftp://me:s3cret@host/a": ("sftp://host/a holds a password;", "~/.config/fsspec", "spark.hadoop.fs."),
    "x1://host/a?password=s3cret": ("x1://host/a holds a key, the option password;", "fsspec", "spark.hadoop.fs."),
    "x1://host/a?client_secret=s3cret": (
        "x1://host/a holds a key, the option client_secret;",
        "fsspec",
        "spark.hadoop.fs.",
    ),
}
"""URIs, each with how the error begins, and words of what takes the credentials for logs and for a warehouse."""
ALLOWED = {
    "s3://bucket/a:b@c": "s3://bucket/a:b@c",
    "s3://bucket/what?.log": "s3://bucket/what?.log",
    "S3://b/a?region=x&scheme=http&endpoint_override=h%3A9": "s3://b/a",
    "gs://anonymous@lake/w": "gs://lake/w",
    "abfss://logs@host/a?enable_tls=false&sv=1&sp=rl": "abfss://logs@host/a",
    "sftp://me@host/a": "sftp://host/a",
    "hdfs://namenode:8020": "hdfs://namenode:8020",
    "s3://bucket/a?design=x&assigned=y": "s3://bucket/a",
    "abfss://host/a": "abfss://host/a",
    "wasb://logs@host/a": "wasb://logs@host/a",
    "wasbs://logs@host/a": "wasbs://logs@host/a",
}


def uri_of(text: str) -> Uri:
    uri = parsed_uri(text)
    assert uri is not None
    return uri


@pytest.mark.parametrize("text", REFUSED)
def test_credentials_are_refused_with_what_takes_them(text: str) -> None:
    beginning, *confs = REFUSED[text]
    with pytest.raises(ConfigError) as error:
        uri_of(text).check()
    assert str(error.value).startswith(beginning)
    assert all(conf in str(error.value) for conf in confs)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("text", ALLOWED)
def test_what_is_no_secret_is_allowed_and_not_shown(text: str) -> None:
    uri = uri_of(text)
    uri.check()
    assert uri.shown == ALLOWED[text]


@pytest.mark.parametrize("text", ["/logs/a", "C://x", "logs", "schema:x", "a/s3://b", ""])
def test_a_path_is_no_uri(text: str) -> None:
    assert parsed_uri(text) is None


AZURE = (
    "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET in the environment, or AZURE_STORAGE_CONNECTION_STRING and "
    "az://CONTAINER/… (adlfs); a warehouse's by spark.hadoop.fs.azure.account.key.HOST or "
    "spark.hadoop.fs.azure.sas.fixed.token.HOST"
)


@pytest.mark.parametrize(
    ("scheme", "conf"),
    [
        (
            "s3a",
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment; a warehouse's by spark.hadoop.fs.s3a.access.key "
            "and spark.hadoop.fs.s3a.secret.key",
        ),
        (
            "gs",
            "GOOGLE_APPLICATION_CREDENTIALS in the environment; a warehouse's by "
            "spark.hadoop.fs.gs.auth.service.account.json.keyfile",
        ),
        ("abfss", AZURE),
        ("az", AZURE),
        ("wasbs", AZURE),
        (
            "sftp",
            "the configuration of fsspec (~/.config/fsspec/*.json); a warehouse's by spark.hadoop.fs.… of its file system",
        ),
    ],
)
def test_each_store_has_its_own_place_for_credentials(scheme: str, conf: str) -> None:
    with pytest.raises(ConfigError) as error:
        uri_of(f"{scheme}://host/a?token=s3cret").check()
    assert str(error.value) == (
        f"{scheme}://host/a holds a key, the option token; take it out, and give a log's credentials by {conf}"
    )
