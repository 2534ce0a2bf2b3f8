"""Whatever clients write into a log arrives as data: whole, counted exactly, and harmless wherever it is shown.

One log per generation of the record, whose client ids, principals, software names and groups hold what breaks
careless tools. `scan` derives their tables; a long test has them from a run of Spark into a warehouse whose own path is
as odd. The text in a field is compared with the text that was written, and every output is searched for characters
that a terminal would act on.
"""

import io
import json
import subprocess
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.printable import safe
from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.builders import RECORDS, json_record
from tests.report.tables_on_disk import write_warehouse
from tests.scan.comparing import DERIVED, in_arrow
from tests.scanned import read

FORGED = (
    "x\n[2026-11-21 12:00:00,000] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=4, clientId=forged, "
    "correlationId=9) -- {} (kafka.request.logger)\n"
    '[2026-11-21 12:00:00,000] DEBUG Completed request:{"isForwarded":false,"requestHeader":{"clientId":"forged"}}'
    " (kafka.request.logger)\nx"
)
TEXTS = {
    "newlines": "a\nb\r\nc\rd\x0b\x0c\x85", "forged records": FORGED, "ANSI escapes": "\x1b[2J\x1b[31mred\x1b[0m\x9b1m",
    "OSC escapes": "\x1b]0;title\x07\x1b]8;;http://x.example\x1b\\link",
    "HTML": "<script>alert('x')</script><img src=x onerror=y>&amp;", "SQL": "'; DROP TABLE requests; --\" OR 1=1 /*",
    "backquotes": "`id` ```", "templates": "${jndi:ldap://x.example/a} {{7*7}} $(id) #{x} <%= x %>",
    "format strings": "%s%n%d {} {0} {x!r} %", "CSV formula": "=cmd|'/c calc'!A1", "CSV sum": "@SUM(1+1)\t+1-1",
    "bidirectional marks": "\u202egnp.exe\u202c \u2066x\u2069 \u200f\u061c",
    "zero width": "ad\u200bmin\u200d\u2060\ufeff\u00ad\u034f", "line separators": "a\u2028b\u2029c",
    "tags and fillers": "x\U000e0041\U000e0042\u3164\ufe0f", "NUL": "a\0b",
    "path traversal": "../../../etc/passwd\\..\\", "quotes and backslashes": '"\'\\"\\n\\u0000', "long": "L" * 32_000,
    "no characters": "\uffff\ufffe\U0010ffff", "emoji and accents": "ü\N{SNOWMAN}\N{GRINNING FACE}e\u0301",
}  # fmt: skip
SURROGATE = "surrogate-goes-here"
CLUSTER = 'it\'s `a` "cluster"; DROP TABLE x -- ${y} ü'


class Written(NamedTuple):
    """One connection of a log: where it is, what it holds, and its records."""

    generation: str
    connection: str
    text: str
    records: list[bytes]


def principal_of(text: str) -> str:
    """Before 2.8 a principal stands after a record's times: the end of a record in it is one, and 8 KB are looked at."""
    return "User:" + text.partition(" (kafka.request.logger)")[0][:6000]


def connections(generation: str) -> list[Written]:
    """Per hostile text one connection with two requests; JSON has ApiVersions and JoinGroup with the text in them too."""
    found = []
    for number, text in enumerate(TEXTS.values()):
        end = f"10.0.0.2:{40000 + number}"
        connection = f"/{end}" if generation == "name_text" else f"10.0.0.1:9092-{end}-{number}"
        who: dict[str, Any] = {"connection": connection, "client_id": text}
        who |= {} if generation == "name_text" else {"principal": principal_of(text)}
        known = {"software": (text, text)} if generation == "json" else {}
        records = [RECORDS[generation](at=at, correlation_id=at, **who, **known) for at in (1, 2)]
        if generation == "json":
            records = [_api_versions(text, who), *records, _join(text, who | known)]
        found.append(Written(generation, connection, text, records))
    return found


def _api_versions(text: str, who: dict[str, Any]) -> bytes:
    sent, answer = {"clientSoftwareName": text, "clientSoftwareVersion": text}, {"errorCode": 42, "apiKeys": []}
    return json_record(api="API_VERSIONS", version=3, request=sent, response=answer, correlation_id=0, **who)


def _join(text: str, who: dict[str, Any]) -> bytes:
    sent = dict.fromkeys(("groupId", "memberId", "groupInstanceId", "protocolType"), text)
    answer = dict.fromkeys(("protocolType", "protocolName", "leader", "memberId"), text)
    protocols = {"protocols": [{"name": text, "metadata": "AAA="}]}
    request = {"request": sent | protocols, "response": answer | {"errorCode": 0, "members": []}}
    return json_record(at=3, correlation_id=3, api="JOIN_GROUP", version=7, **request, **who)


WRITTEN = [written for generation in RECORDS for written in connections(generation)]
SURROGATES = json_record(client_id=SURROGATE, connection="10.0.0.1:9092-10.0.0.3:50000-1")
SURROGATES = SURROGATES.replace(SURROGATE.encode(), b"a\\ud800b\\udc00")
SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQ="
CONFIGS = [{"configs": [{"name": "p", "value": SECRET}]}]
WITH_SECRETS: dict[str, tuple[Any, Any]] = {
    "SASL_AUTHENTICATE": ({"authBytes": SECRET}, {"errorCode": 34, "authBytes": SECRET}),
    "ALTER_USER_SCRAM_CREDENTIALS": ({"upsertions": [{"name": "u", "saltedPassword": SECRET}]}, {"results": []}),
    "CREATE_DELEGATION_TOKEN": ({"renewers": []}, {"errorCode": 0, "hmac": SECRET}),
    "RENEW_DELEGATION_TOKEN": ({"hmac": SECRET}, {"errorCode": 0}),
    "EXPIRE_DELEGATION_TOKEN": ({"hmac": SECRET}, {"errorCode": 0}),
    "DESCRIBE_DELEGATION_TOKEN": ({"owners": []}, {"errorCode": 0, "tokens": [{"hmac": SECRET}]}),
    "INCREMENTAL_ALTER_CONFIGS": ({"resources": CONFIGS}, {"responses": []}),
    "ALTER_CONFIGS": ({"resources": CONFIGS}, {"responses": []}),
    "DESCRIBE_CONFIGS": ({"resources": []}, {"results": CONFIGS}),
}
CREDENTIALS = [
    json_record(api=api, correlation_id=at, request=sent, response=answer, connection="10.0.0.1:9092-10.0.0.4:50000-2")
    for at, (api, (sent, answer)) in enumerate(WITH_SECRETS.items())
]
PLAIN_CONNECTIONS = 2


class Ran(NamedTuple):
    """Where a run's logs and tables are, what it counted in each file, and the session of a run by Spark."""

    warehouse: str
    logs: Path
    files: list[dict[str, Any]]
    spark: Any = None


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "logs"
    for generation in RECORDS:
        lines = [line for written in WRITTEN if written.generation == generation for line in written.records]
        lines += [SURROGATES, *CREDENTIALS] if generation == "json" else []
        broker = folder / f"{generation} it's `odd` ${{x}} ä"
        broker.mkdir(parents=True)
        (broker / "kafka-request.log").write_bytes(b"".join(lines))
    return folder


@pytest.fixture(scope="module", params=["scan", pytest.param("run", marks=pytest.mark.long)])
def ran(request: pytest.FixtureRequest, logs: Path) -> Ran:
    if request.param == "scan":
        tables, reading = read([logs], Settings(cluster=CLUSTER))
        tables.derive()
        made = {name: in_arrow(tables, name) for name in ("requests", "failed_requests", *DERIVED)}
        warehouse = write_warehouse(logs.parent / "of scan", {**made, "ingested_files": reading.files})
        return Ran(str(warehouse), logs, reading.files)
    spark, root = request.getfixturevalue("spark"), str(logs.parent / 'it\'s "odd" ä {x} %s #1 [a]' / "w")
    with redirect_stdout(io.StringIO()) as said:
        code = cli.main(["run", str(logs), "--warehouse", root, "--cluster", CLUSTER, "--json"], spark)
    assert code == 0, said.getvalue()
    return Ran(root, logs, json.loads(said.getvalue())["files"], spark)


def rows(ran: Ran, table: str, *columns: str) -> list[dict[str, Any]]:
    if ran.spark is None:
        return LocalTables(Path(ran.warehouse)).query(f"SELECT {', '.join(columns) or '*'} FROM {{{table}}}").dicts()
    found = Warehouse(ran.spark, ran.warehouse).read(table).select(*columns or "*").collect()
    return [row.asDict(recursive=True) for row in found]


def is_plain(text: str) -> bool:
    """Nothing but lines of printable characters."""
    return all(line == safe(line, len(line)) for line in text.split("\n"))


def test_every_record_is_counted_and_no_forged_one(ran: Ran) -> None:
    written = sum(len(one.records) for one in WRITTEN) + len([SURROGATES, *CREDENTIALS])
    requests = rows(ran, "requests", "client_id")
    assert sum(file["requests"] for file in ran.files) == len(requests) == written
    assert sum(file["rejected"] for file in ran.files) == len(rows(ran, "rejected_records")) == 0
    assert len(rows(ran, "connections", "broker")) == len(WRITTEN) + PLAIN_CONNECTIONS
    assert "forged" not in {row["client_id"] for row in requests}


def test_bodies_with_credentials_are_kept_nowhere(ran: Ran) -> None:
    found = rows(ran, "requests", "api_name", "request", "response", "group_payloads")
    assert set(WITH_SECRETS) <= {row["api_name"] for row in found}
    assert [row for row in found if row["api_name"] in WITH_SECRETS and (row["request"] or row["response"])] == []
    assert SECRET not in str([found, *(rows(ran, table) for table in ("rejected_records", "failed_requests"))])


def test_texts_arrive_as_they_were_written(ran: Ran) -> None:
    columns = ("log_generation", "connection_id", "client_id", "principal")
    found = Counter(tuple(row[name] for name in columns) for row in rows(ran, "requests", *columns))
    expected: Counter[tuple[Any, ...]] = Counter()
    for one in WRITTEN:
        principal = None if one.generation == "name_text" else principal_of(one.text)
        expected[one.generation, one.connection, one.text, principal] = len(one.records)
    expected["json", "10.0.0.1:9092-10.0.0.3:50000-1", "a\ufffdb\ufffd", "User:ANONYMOUS"] = 1
    expected["json", "10.0.0.1:9092-10.0.0.4:50000-2", "app", "User:ANONYMOUS"] = len(CREDENTIALS)
    assert found == expected


def test_derived_tables_keep_the_texts(ran: Ran) -> None:
    def values(table: str, column: str) -> set[str]:
        return {row[column] for row in rows(ran, table, column)}

    texts = set(TEXTS.values())
    assert texts <= values("connections", "client_software_name")
    assert values("group_protocols", "group_id") == texts
    assert values("client_inventory", "cluster") == {CLUSTER}
    assert texts <= values("client_inventory", "client_id")
    assert values("connections", "broker") == {f"{generation} it's `odd` ${{x}} ä" for generation in RECORDS}


def test_what_clients_break_is_a_violation_whatever_it_holds(ran: Ran) -> None:
    found = rows(ran, "violations", "rule", "message", "connection_id")
    valid = sum(text.isascii() and text.isalnum() for text in TEXTS.values())
    assert Counter(row["rule"] for row in found)["invalid_software_name"] == len(TEXTS) - valid
    assert [row["message"] for row in found if not is_plain(row["message"])] == []
    assert max(len(row["message"]) for row in found) < 1300
    forgers = {one.connection for one in WRITTEN if one.text == FORGED}
    assert {row["connection_id"] for row in found if row["rule"] == "log_forging"} == forgers


def test_the_example_of_a_violation_is_found_by_grep(ran: Ran) -> None:
    found = rows(ran, "violations", "broker", "example")
    patterns = {(row["broker"], row["example"]["grep"]) for row in found if row["broker"]}
    assert patterns
    for broker, pattern in patterns:
        command = ["grep", "-aEc", "--", pattern, str(ran.logs / broker / "kafka-request.log")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (pattern, done.stderr)


COMMANDS = {
    "violations": ["violations"],
    "violations of the cluster": ["violations", "--cluster", CLUSTER],
    "upgrade": ["upgrade", "--target", "4.0.1", "--all-targets"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_what_a_command_prints_moves_no_terminal_and_json_is_ascii(ran: Ran, capsys: Any, arguments: list[str]) -> None:
    said = []
    for form in ([], ["--json"]):
        assert cli.main([*arguments, *form, "--warehouse", ran.warehouse], ran.spark) in (0, 3)
        said.append(capsys.readouterr().out)
        assert is_plain(said[-1])
    assert max(map(len, said[0].split("\n"))) < 16_000  # four texts of 4,000 characters
    assert said[1].isascii()
    found = json.loads(said[1])
    assert found.get("violations") or found.get("matrix")
    if "matrix" in found:
        assert {row["client_id"] for row in found["rows"]} <= {*TEXTS.values(), "a\ufffdb\ufffd", "app"}


@pytest.mark.long
@pytest.mark.parametrize("ran", ["run"], indirect=True)
def test_the_summary_of_a_run_that_finds_nothing_new_is_harmless_too(ran: Ran, capsys: Any) -> None:
    assert cli.main(["run", str(ran.logs), "--warehouse", ran.warehouse, "--cluster", CLUSTER], ran.spark) == 0
    said = capsys.readouterr().out
    assert "4 files were read before and have nothing new" in said
    assert "invalid_software_name" in said
    assert is_plain(said)


@pytest.mark.parametrize("odd", ["o`dd", "${odd}"])
def test_a_warehouse_whose_path_spark_would_take_for_sql_is_refused(
    spark: Any, logs: Path, tmp_path: Path, capsys: Any, odd: str
) -> None:
    # Delta's own builder puts the path between backquotes, and Spark replaces ${…} in SQL without a word.
    assert cli.main(["run", str(logs), "--warehouse", str(tmp_path / odd)], spark) == 1
    assert "has a backquote or ${ in its path" in capsys.readouterr().err


HOSTILE_ARGUMENTS = {
    "SQL as a cluster": (["violations", "--cluster", "x' OR '1'='1"], 2, "of which"),
    "a control character as a cluster": (["violations", "--cluster", "\x1b[2J\n"], 2, "of which"),
    "bytes that are no UTF-8 as a cluster": (["violations", "--cluster", "\udcff"], 2, "--cluster"),
    "the same for upgrade": (["upgrade", "--all-targets", "--cluster", "\udcff"], 2, "--cluster"),
    "SQL as a rule": (["violations", "--rule", "x' OR '1'='1"], 2, "unknown rule"),
    "escapes as a rule": (["violations", "--rule", "\x1b[2J\u202e"], 2, "unknown rule"),
    "a very long rule": (["violations", "--rule", "r" * 100_000], 2, "unknown rule"),
    "SQL as a time": (["violations", "--since", "2026-11-21' OR '1'='1"], 2, "--since"),
    "a time before all times": (["violations", "--since", "0001-01-01T00:00+23:00"], 2, "--since"),
    "the last time": (["violations", "--since", "9999-12-31T23:59:59"], 0, "No violations."),
    "SQL as a release": (["upgrade", "--target", "4.0.1'; --"], 2, "4.0.1"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "says"), HOSTILE_ARGUMENTS.values(), ids=HOSTILE_ARGUMENTS)
def test_hostile_arguments_work_or_are_named(ran: Ran, capsys: Any, arguments: list[str], code: int, says: str) -> None:
    assert cli.main([*arguments, "--warehouse", ran.warehouse], ran.spark) == code
    said = capsys.readouterr()
    assert says in said.out + said.err
    assert is_plain(said.out + said.err)
    assert len(said.err) < 5000
