"""Messages to owners: each is whole, says what to do, and holds no markup of a client; a receiver gets each once."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_clientinfo import cli
from kafka_clientinfo.commands import message_text, messages
from kafka_clientinfo.commands.message_text import Facts
from kafka_clientinfo.commands.messages import TOKEN, Message
from kafka_clientinfo.commands.ownership import OwnerImpact
from kafka_clientinfo.config.owners import Owner
from kafka_clientinfo.releases.broker_releases import ApiRange, Release
from kafka_clientinfo.tables import spec
from kafka_clientinfo.tables.spec import CLIENT
from tests.commands.fleet_on_disk import HOSTILE, TARGET, fleet, use
from tests.commands.receiver import receiver

PAYMENTS = "../Pay|ments <script>`"
OWNERS = f"""
[[owners]]
owner = '{PAYMENTS}'
contact = 'pay*@example.org'
hosts = ['10.1.0.0/16']
[[owners]]
owner = 'All is well'
hosts = ['10.3.0.0/16']
"""
VERSION = {"client_software_version": "1.0"}
TITLES = (
    "What to change",
    "Cannot be judged",
    "How this is known",
    f"Appendix: requests that Kafka {TARGET} does not accept",
)
ADVICE: dict[str, Any] = {"library": "kafka-python", "upgrade_to": {TARGET: "2.1.5"}, "upgrade_over": {}}
ADVICE["upgrade_newest"] = {TARGET: "3.0.12"}
SET: dict[str, Any] = {"library": "sarama", "upgrade_to": {}, "upgrade_over": {}, "raise_setting": {TARGET: "Config.*"}}
JAVA = ADVICE | {"library": "Apache Kafka's Java client", "upgrade_to": {TARGET: "0.11.0.3"}}
HELD: dict[str, Any] = SET | {"library": "kafkajs", "raise_setting": {TARGET: "unknown"}}
OVER: dict[str, Any] = ADVICE | {
    "library": "sarama|",
    "upgrade_to": {TARGET: "1.46"},
    "upgrade_newest": {TARGET: "1.46"},
    "upgrade_over": {TARGET: "3.9.1"},
}
USES = (
    use("app", "10.1.0.1", "PRODUCE", 2, refused="refused_although_advertised", requests=1200),
    use("app", "10.1.0.2", "PRODUCE", 2, refused="refused_although_advertised", day=1),
    use("app", "10.9.0.9", "PRODUCE", 2, refused="refused_although_advertised", day=2),
    use(HOSTILE, "10.1.0.1", "FETCH", 3, refused="below_range"),
    use("# see https://evil.example www.evil.example", HOSTILE, "FETCH", 18, undecided="negotiates_down"),
    use("fine", "10.3.0.1"),
)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fleet(tmp_path_factory.mktemp("messages") / "w", USES)


@pytest.fixture
def owners(tmp_path: Path) -> str:
    path = tmp_path / "o.toml"
    path.write_text(OWNERS)
    return str(path)


def upgrade(warehouse: Path, owners: str, *arguments: str) -> int:
    by = ["--target", TARGET, "--owners", owners, "--by", "owner"]
    return cli.main(["upgrade", "--warehouse", str(warehouse), *by, *arguments])


def test_every_owner_whose_clients_are_not_fine_has_a_message(
    warehouse: Path, owners: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out" / "messages"
    assert upgrade(warehouse, owners, "--messages", str(folder)) == 3
    assert f"Messages in {folder}: 2." in capsys.readouterr().out
    found = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    name = Message(Owner(PAYMENTS), TARGET, "").file_name
    assert set(found) == {name, "no-owner.md"}
    assert (folder / name).stat().st_mode & 0o777 == 0o600
    text, other = found[name], found["no-owner.md"]
    assert text.startswith(f"# Kafka {TARGET}: 2 of 2 clients of ../Pay\\|ments &lt;script&gt;\\` would stop working\n")
    assert "pay\\*@example.org" in text
    assert ("10.9.0.9" in text, "10.9.0.9" in other) == (False, True)


def test_no_text_of_a_client_is_markup(warehouse: Path, owners: str, tmp_path: Path) -> None:
    upgrade(warehouse, owners, "--messages", str(tmp_path / "m"))
    for path in (tmp_path / "m").iterdir():
        text = path.read_text("utf-8")
        assert "<" not in text
        assert "\u202e" not in text
        assert "https://evil" not in text
        assert "www.evil" not in text
        assert re.search(r"(?<!\\)[`*]", re.sub(r"(?m)^- \*\*[A-Z][a-z ]+:\*\*", "", text)) is None
        assert {line for line in text.splitlines() if line.startswith("## ")} <= {f"## {title}" for title in TITLES}
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {11}


@pytest.mark.parametrize(
    ("hosts", "shown"), [(20, ""), (21, " and 1 more"), (1_020, " and 1,000 more")], ids=["as many", "one more", "many"]
)
def test_a_message_names_twenty_hosts(hosts: int, shown: str) -> None:
    names = [f"h{number:04}" for number in range(hosts)]
    assert message_text._hosts(set(names)) == ", ".join(names[:20]) + shown


def test_texts_in_a_message_are_cut() -> None:
    assert len(message_text._text("x" * 300)) == 240
    assert re.fullmatch("x{60}-[0-9a-f]{8}[.]md", Message(Owner("x" * 300), TARGET, "").file_name)


def test_messages_come_by_the_names_of_owners_and_last_that_without_one() -> None:
    use = {"verdict": "deprecated", "requests": 1, "api_name": "FETCH", "api_version": 3, "all_hosts": {"h"}}
    use |= dict.fromkeys(CLIENT, "x") | dict.fromkeys(("first_seen", "last_seen"), datetime(2026, 11, 21, tzinfo=UTC))
    use |= {"reason": "refused_later", "refused_from": "4.0.1"}
    impacts = {owner: OwnerImpact(uses=[use]) for owner in (Owner("b"), None, Owner("c"), Owner("a"))}
    impacts[Owner("fine")] = OwnerImpact()
    made = messages.messages(impacts, Facts(TARGET))
    assert [message.owner and message.owner.name for message in made] == ["a", "b", "c", None]


def test_a_message_lists_five_hundred_uses_and_clients() -> None:
    times = dict.fromkeys(("first_seen", "last_seen"), datetime(2026, 11, 21, tzinfo=UTC))
    common = {
        "cluster": "c",
        "principal": "p",
        "client_software_name": "kgo",
        "verdict": "refused",
        "requests": 1,
    } | VERSION
    common |= {"api_name": "FETCH", "api_version": 3, "all_hosts": {"h"}, "reason": "below_range", "refused_from": None}
    common |= dict.fromkeys(("library", *spec.ADVICE)) | times
    uses = [common | {"client_id": f"app-{chr(0x4E00 + number)}"} for number in range(501)]
    text = message_text._appendix(uses, TARGET)
    assert text.count("\n| c |") == 500
    assert text.endswith("… and 1 more, which `kafka-clientinfo upgrade` lists.")
    assert " more, which" not in message_text._appendix(uses[:500], TARGET)
    changes = message_text._changes(uses, Facts(TARGET))
    assert changes.count("\n### ") == 500
    assert changes.endswith("… and 1 program more, which `kafka-clientinfo upgrade` lists.")
    assert " more, which" not in message_text._changes(uses[:500], Facts(TARGET))


def test_clients_with_ids_that_differ_by_numbers_are_one_program(owners: str, tmp_path: Path) -> None:
    old: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised", "groups": ["g"]}
    uses = [use(f"cron-{number}", f"10.1.0.{number}", **old) for number in range(1, 13)]
    uses += [use("cron-x", "10.1.0.1", **old), use("cron-1", "10.1.0.1", principal="User:other", **old)]
    upgrade(fleet(tmp_path / "w", uses), owners, "--messages", str(tmp_path / "m"))
    (path,) = (tmp_path / "m").iterdir()
    headings = [line for line in path.read_text("utf-8").splitlines() if line.startswith("### ")]
    ten = ", ".join(f"cron-{number}" for number in (1, 10, 11, 12, 2, 3, 4, 5, 6, 7))
    assert sorted(headings) == ["### cron-1", f"### {ten} and 2 more", "### cron-x"]
    assert "- **Consumer groups:** g\n" in path.read_text("utf-8")


def test_a_group_of_other_requests_of_the_client_is_named(owners: str, tmp_path: Path) -> None:
    old: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
    others = [use("app", host, groups=groups, day=1) for host, groups in (("10.1.0.1", ["g"]), ("10.1.0.2", ["h"]))]
    warehouse = fleet(tmp_path / "w", [use("app", "10.1.0.1", **old, groups=["breaks"]), *others])
    upgrade(warehouse, owners, "--messages", str(tmp_path / "m"))
    (path,) = (tmp_path / "m").iterdir()
    text = path.read_text("utf-8")
    assert "- **Consumer groups:** breaks\n" in text
    when = "of clients with this id at other times or from other hosts,** some of which may be of other programs"
    assert f"- **Consumer groups {when}: g, h\n" in text


def test_a_template_adds_the_operators_words(warehouse: Path, owners: str, tmp_path: Path) -> None:
    template = tmp_path / "t.md"
    template.write_text(
        "Dear $owner ($contact),\n\n${title}. By 1 May, for $$0.\n\n$later\n\n$changes\n\nYours, the Kafka team\n"
    )
    upgrade(warehouse, owners, "--messages", str(tmp_path / "m"), "--template", str(template))
    text = (tmp_path / "m" / Message(Owner(PAYMENTS), TARGET, "").file_name).read_text("utf-8")
    assert text.startswith(
        "Dear ../Pay\\|ments &lt;script&gt;\\` (pay\\*@example.org),\n\n# ".replace(
            "# ", f"Kafka {TARGET}: 2 of 2 clients"
        )
    )
    assert "By 1 May, for $0.\n\n## What to change\n" in text
    assert text.endswith("\n\nYours, the Kafka team\n")
    assert "Appendix" not in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\n$nobody", "line 2: $nobody stands for nothing; known are $addressee, $appendix, $changes, "),
        ("5 $", "line 1: $ stands for nothing; known are "),
        (None, "cannot be read: "),
    ],
)
def test_a_template_that_is_wrong_is_named(
    text: str | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "t.md"
    if text is not None:
        template.write_text(text)
    line = ["upgrade", "--target", TARGET, "--warehouse", "/nowhere", "--owners", "conf/owners.toml", "--by", "owner"]
    assert cli.main([*line, "--template", str(template)]) == 2
    assert f"--template {template}" in (error := capsys.readouterr().err)
    assert says in error


def test_a_known_library_is_told_to_which_release(owners: str, tmp_path: Path) -> None:
    old: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
    uses = (
        use("one", "10.1.0.1", **old, advice=ADVICE),
        use("one", "10.1.0.1", "FETCH", 3, refused="below_range", advice=ADVICE),
        use("two", "10.1.0.1", **old, advice=OVER),
        use("three", "10.1.0.1", **old, advice=JAVA),
        use("up to date", "10.1.0.1", "FETCH", 3, refused="below_range", advice=SET),
        use("up to date, of a library without settings", "10.1.0.1", "FETCH", 3, refused="below_range", advice=HELD),
    )
    upgrade(fleet(tmp_path / "w", uses), owners, "--messages", str(tmp_path / "m"))
    (path,) = (tmp_path / "m").iterdir()
    lines = [line for line in path.read_text("utf-8").splitlines() if line.startswith("- **Change:** ")]
    assert [line.partition(":** ")[2] for line in lines] == [
        "upgrade kafka-python to 2.1.5 or later (newest: 3.0.12).",
        "upgrade Apache Kafka's Java client (kafka-clients) to 2.1 or later (newest: 3.0.12).",
        "upgrade sarama\\| to 1.46 or later, once the brokers have Kafka 3.9.1, which both it and today's clients work with.",
        "keep its release of sarama, which works with Kafka 4.0.1, and have it send newer requests: if your program sets "
        "Config.Version, which many programs call version, set the release of today's brokers, or the newest that its sarama knows.",
        "keep its release of kafkajs, which works with Kafka 4.0.1, and have it send newer requests: raise what holds its versions down.",
    ]


@pytest.mark.parametrize(
    ("target", "api", "taken"),
    [
        ("4.0.1", "PRODUCE", "v3 to v12"),
        ("0.10.0.1", "LIST_OFFSETS", "v0"),
        ("4.0.1", "LEADER_AND_ISR", "none, because it does not have this API"),
        ("4.0.1", "API_999", "none, because it does not have this API"),
    ],
)
def test_it_names_the_versions_that_a_release_takes(target: str, api: str, taken: str) -> None:
    assert message_text._accepted(target, api) == taken


@pytest.mark.parametrize(
    ("refused", "taken"),
    [((0, 3), "v1 to v2 and v4 to v5"), ((1, 2, 3), "v0 and v4 to v5"), (range(6), "none"), ((), "v0 to v5")],
)
def test_versions_that_a_release_refuses_though_it_has_them_are_not_named(
    refused: Iterable[int], taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {(0, 5): "another reason", (1, 1): "version"} | {(0, version): "version" for version in refused}
    broker = Release("x", tried=True, apis={0: ApiRange(0, 5)}, refused=answers)
    monkeypatch.setattr(message_text, "release", lambda _: broker)
    assert message_text._accepted("x", "PRODUCE") == taken


@given(st.text(min_size=1), st.text(min_size=1))
@example("x" * 61, "x" * 62)
def test_file_names_are_safe_and_differ(one: str, other: str) -> None:
    names = [Message(Owner(name), TARGET, "").file_name for name in (one, other)]
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,68}\.md", name) for name in names)
    assert (names[0] == names[1]) == (one == other)
    assert Message(None, TARGET, "").file_name not in names


@pytest.mark.parametrize(
    ("owner", "begins"),
    [
        ("Payments & Co.", "payments-co-"),
        ("Zürich", "zurich-"),
        ("\N{CJK UNIFIED IDEOGRAPH-4E2D}", ""),
        ("a" * 60 + "b", "a" * 60 + "-"),
        ("a" * 59 + " b", "a" * 59 + "-"),
    ],
)
def test_a_file_name_begins_with_the_letters_of_its_owner(owner: str, begins: str) -> None:
    assert re.fullmatch(rf"{begins}[0-9a-f]{{8}}\.md", Message(Owner(owner), TARGET, "").file_name)


@pytest.mark.parametrize("option", ["--messages", "--webhook", "--template"])
def test_messages_need_owners(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["upgrade", "--target", TARGET, "--warehouse", "/nowhere", option, "x"]) == 2
    assert f"{option} needs --by owner" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["", " "])
def test_a_folder_without_a_name_is_not_this_one(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["upgrade", "--target", TARGET, "--warehouse", "/nowhere", "--by", "owner", "--messages", folder]
    assert cli.main(line) == 2
    assert f"--messages is {folder!r}; name a folder" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(
    warehouse: Path, owners: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert upgrade(warehouse, owners, "--messages", str(tmp_path / "file")) == 1
    assert f"--messages {tmp_path}/file cannot be made" in capsys.readouterr().err


@pytest.mark.parametrize("token", ["", "s3cret"])
def test_each_message_is_posted_once(
    warehouse: Path,
    owners: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    token: str,
) -> None:
    monkeypatch.setenv(TOKEN, token)
    with receiver() as (url, got):
        assert upgrade(warehouse, owners, "--webhook", url, "--messages", str(tmp_path / "m")) == 3
    assert [body["owner"] for _, _, body in got] == [PAYMENTS, None]
    assert [body["contact"] for _, _, body in got] == ["pay*@example.org", None]
    assert {body["target"] for _, _, body in got} == {TARGET}
    assert {body["markdown"] for _, _, body in got} == {path.read_text("utf-8") for path in (tmp_path / "m").iterdir()}
    assert {headers.get("Authorization") for _, headers, _ in got} == {f"Bearer {token}" if token else None}
    assert {headers["Content-Type"] for _, headers, _ in got} == {"application/json"}
    printed = "".join(capsys.readouterr())
    assert "Messages posted to http://127.0.0.1:" in printed
    assert "s3cret" not in printed
    assert "secret-path" not in printed


@pytest.mark.parametrize("answer", [302, 307, 400, 401, 500, 503])
def test_what_a_receiver_refuses_is_told_without_secrets(
    warehouse: Path, owners: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: int
) -> None:
    monkeypatch.setenv(TOKEN, "s3cret")
    with receiver(answer, after=1) as (url, got):
        assert upgrade(warehouse, owners, "--webhook", url) == 1
    assert len(got) == 2  # no redirect is followed
    told = "".join(capsys.readouterr())
    assert f"answered {answer}; it has 1 of 2 messages" in told
    assert "s3cret" not in told
    assert "secret-path" not in told
