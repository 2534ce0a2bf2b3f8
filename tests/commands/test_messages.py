"""Messages to owners: each is whole, says what to do, and holds no markup of a client; a receiver gets each once."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_clientinfo.commands import message_changes, message_text, messages
from kafka_clientinfo.commands.message_text import Facts
from kafka_clientinfo.commands.messages import TOKEN, Message
from kafka_clientinfo.commands.ownership import OwnerImpact
from kafka_clientinfo.config.owners import Owner
from kafka_clientinfo.questions.losses import Lost
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
[[owners]]
owner = 'Programs'
hosts = ['10.4.0.0/16']
[[owners]]
owner = 'Groups'
hosts = ['10.5.0.0/16']
[[owners]]
owner = 'Libraries'
hosts = ['10.6.0.0/16']
"""
TITLES = (
    "What to change", "Cannot be judged", "How this is known", f"Appendix: requests that Kafka {TARGET} does not accept",
)  # fmt: skip
ADVICE: dict[str, Any] = {"library": "kafka-python", "upgrade_to": {TARGET: "2.1.5"}, "upgrade_over": {}}
ADVICE["upgrade_newest"] = {TARGET: "3.0.12"}
SET: dict[str, Any] = {"library": "sarama", "upgrade_to": {}, "upgrade_over": {}, "raise_setting": {TARGET: "Config.*"}}
JAVA = ADVICE | {"library": "Apache Kafka's Java client", "upgrade_to": {TARGET: "0.11.0.3"}}
HELD: dict[str, Any] = SET | {"library": "kafkajs", "raise_setting": {TARGET: "unknown"}}
OVER = ADVICE | {"library": "sarama|", "upgrade_over": {TARGET: "3.9.1"}}
OVER |= {name: {TARGET: "1.46"} for name in ("upgrade_to", "upgrade_newest")}
OLD: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
FETCH: dict[str, Any] = {"api": "FETCH", "version": 3, "refused": "below_range"}
USES = (
    use("app", "10.1.0.1", **OLD, requests=1200),
    use("app", "10.1.0.2", **OLD, day=1),
    use("app", "10.9.0.9", **OLD, day=2),
    use(HOSTILE, "10.1.0.1", **FETCH),
    use("# see https://evil.example www.evil.example", HOSTILE, "FETCH", 18, undecided="negotiates_down"),
    use("fine", "10.3.0.1"),
)
PROGRAMS = (
    *(use(f"cron-{number}", f"10.4.0.{number}", **OLD, groups=["g"]) for number in range(1, 13)),
    *(use("cron-x", "10.4.0.1", **OLD), use("cron-1", "10.4.0.1", principal="User:other", **OLD)),
    use("app", "10.5.0.1", **OLD, groups=["breaks"]),
    *(use("app", host, groups=groups, day=1) for host, groups in (("10.5.0.1", ["g"]), ("10.5.0.2", ["h"]))),
    use("one", "10.6.0.1", **OLD, advice=ADVICE),
    use("one", "10.6.0.1", **FETCH, advice=ADVICE),
    use("two", "10.6.0.1", **OLD, advice=OVER),
    use("three", "10.6.0.1", **OLD, advice=JAVA),
    use("up to date", "10.6.0.1", **FETCH, advice=SET),
    use("up to date, of a library without settings", "10.6.0.1", **FETCH, advice=HELD),
)


class Sent:
    """Warehouses and what is asked of them."""

    def __init__(self, folder: Path) -> None:
        self.warehouse = fleet(folder / "w", USES)
        self.of_programs = fleet(folder / "programs", PROGRAMS)
        self.owners = folder / "o.toml"
        self.owners.write_text(OWNERS)

    def line(self, *words: object) -> tuple[object, ...]:
        by = ("--target", TARGET, "--owners", self.owners, "--by", "owner")
        return ("upgrade", "--warehouse", self.warehouse, *by, *words)


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    return Sent(tmp_path_factory.mktemp("messages"))


def test_every_owner_of_clients_that_break_has_a_message(sent: Sent, tmp_path: Path, ask: Any) -> None:
    folder = tmp_path / "out" / "messages"
    answer = ask(*sent.line("--messages", folder))
    assert answer.code == 3
    assert f"Messages in {folder}: 2." in answer.out
    found = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    name = Message(Owner(PAYMENTS), TARGET, "").file_name
    assert set(found) == {name, "no-owner.md"}
    assert (folder / name).stat().st_mode & 0o777 == 0o600
    text, other = found[name], found["no-owner.md"]
    assert text.startswith(f"# Kafka {TARGET}: 2 clients of ../Pay\\|ments &lt;script&gt;\\` would stop working\n")
    assert "pay\\*@example.org" in text
    assert ("10.9.0.9" in text, "10.9.0.9" in other) == (False, True)
    for text in found.values():
        assert not [part for part in ("<", "\u202e", "https://evil", "www.evil") if part in text]
        assert re.search(r"(?<!\\)[`*]", re.sub(r"(?m)^- \*\*[A-Z][a-z ]+:\*\*", "", text)) is None
        assert {line for line in text.splitlines() if line.startswith("## ")} <= {f"## {title}" for title in TITLES}
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {11}


def test_a_message_names_programs_groups_and_the_release_to_go_to(sent: Sent, tmp_path: Path, ask: Any) -> None:
    """Client ids that differ by numbers are one program."""
    ask(*sent.line("--messages", tmp_path, "--warehouse", sent.of_programs))
    texts = {path.name.split("-")[0]: path.read_text("utf-8") for path in tmp_path.iterdir()}
    headings = [line for line in texts["programs"].splitlines() if line.startswith("### ")]
    ten = ", ".join(f"cron-{number}" for number in (1, 10, 11, 12, 2, 3, 4, 5, 6, 7))
    assert sorted(headings) == ["### cron-1", f"### {ten} and 2 more", "### cron-x"]
    assert texts["programs"].splitlines()[0].endswith(" would stop working (client ids of 3 programs)")
    assert "- **Consumer groups:** g\n" in texts["programs"]
    assert "- **Consumer groups:** breaks\n" in texts["groups"]
    when = "of clients with this id at other times or from other hosts,** some of which may be of other programs"
    assert f"- **Consumer groups {when}: g, h\n" in texts["groups"]
    changes = [line for line in texts["libraries"].splitlines() if line.startswith("- **Change:** ")]
    assert [line.partition(":** ")[2] for line in changes] == [
        "upgrade kafka-python to 2.1.5 or later (newest: 3.0.12).",
        "upgrade Apache Kafka's Java client (kafka-clients) to 2.1 or later (newest: 3.0.12).",
        "upgrade sarama\\| to 1.46 or later, once the brokers have Kafka 3.9.1, which both it and today's clients work with.",
        "keep its release of sarama, which works with Kafka 4.0.1, and have it send newer requests: if your program sets "
        "Config.Version, which many programs call version, set the release of today's brokers, or the newest that its sarama knows.",
        "keep its release of kafkajs, which works with Kafka 4.0.1, and have it send newer requests: raise the setting that pins its versions.",
    ]


@pytest.mark.parametrize(
    ("hosts", "shown"), [(20, ""), (21, " and 1 more"), (1_020, " and 1,000 more")], ids=["as many", "one more", "many"]
)
def test_a_message_names_twenty_hosts(hosts: int, shown: str) -> None:
    names = [f"h{number:04}" for number in range(hosts)]
    assert message_text._hosts(set(names)) == ", ".join(names[:20]) + shown


def row_of(**given: Any) -> dict[str, Any]:
    """A client's use of a version that the target refuses."""
    row: dict[str, Any] = dict.fromkeys((*CLIENT, "library", *spec.ADVICE)) | {"cluster": "c", "client_id": "a*pp"}
    row |= {"principal": "p", "client_software_name": "kgo", "client_software_version": "1.0", "requests": 1}
    row |= {"api_name": "FETCH", "api_version": 3, "verdict": "refused", "reason": "below_range", "refused_from": None}
    return row | {"all_hosts": {"h"}} | dict.fromkeys(("first_seen", "last_seen"), AT) | given


HEADINGS: dict[str, tuple[list[dict[str, str]], list[str]]] = {
    "each once": ([{"client_id": "a", "cluster": "x"}, {"client_id": "b", "cluster": "y"}], ["a", "b"]),
    "in two clusters": (
        [{"client_id": "a", "cluster": "x"}, {"client_id": "b"}, {"client_id": "a", "cluster": "y*"}],
        ["a (cluster x)", "b", "a (cluster y\\*)"],
    ),
    "of two principals": (
        [{"principal": "q"}, {"principal": ""}],
        ["a\\*pp (principal q)", "a\\*pp (principal (empty))"],
    ),
    "of two clusters and releases": (
        [{"cluster": "x"}, {"cluster": "y", "client_software_version": "2.0"}],
        ["a\\*pp (cluster x, kgo 1.0)", "a\\*pp (cluster y, kgo 2.0)"],
    ),
}


@pytest.mark.parametrize(("clients", "headings"), HEADINGS.values(), ids=HEADINGS)
def test_no_two_headings_are_alike(clients: list[dict[str, str]], headings: list[str]) -> None:
    text = message_text._changes([row_of(**given) for given in clients], Facts(TARGET))
    found = [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]
    assert found[: len(headings)] == headings


def test_messages_come_by_the_names_of_owners_and_last_that_without_one() -> None:
    use = row_of(verdict="deprecated", reason="refused_later", refused_from="4.0.1")
    impacts = {owner: OwnerImpact(uses=[use]) for owner in (Owner("b"), None, Owner("c"), Owner("a"))}
    impacts[Owner("fine")] = OwnerImpact()
    made = messages.messages(impacts, Facts(TARGET))
    assert [message.owner and message.owner.name for message in made] == ["a", "b", "c", None]


def test_a_message_lists_five_hundred_uses_and_clients_and_texts_are_cut() -> None:
    uses = [row_of(client_id=f"app-{chr(0x4E00 + number)}") for number in range(501)]
    text = message_text._appendix(uses, TARGET)
    assert text.count("\n| c |") == 500
    assert text.endswith("… and 1 more, which `kafka-clientinfo upgrade` lists.")
    assert " more, which" not in message_text._appendix(uses[:500], TARGET)
    changes = message_text._changes(uses, Facts(TARGET))
    assert changes.count("\n### ") == 500
    assert changes.endswith("… and 1 program more, which `kafka-clientinfo upgrade` lists.")
    assert " more, which" not in message_text._changes(uses[:500], Facts(TARGET))
    assert len(message_text._text("x" * 300)) == 240


def test_a_template_adds_the_operators_words(sent: Sent, tmp_path: Path, ask: Any) -> None:
    template = tmp_path / "t.md"
    template.write_text(
        "Dear $owner ($contact),\n\n${title}. By 1 May, for $$0.\n\n$later\n\n$changes\n\nYours, the team\n"
    )
    ask(*sent.line("--messages", tmp_path / "m", "--template", template))
    text = (tmp_path / "m" / Message(Owner(PAYMENTS), TARGET, "").file_name).read_text("utf-8")
    dear = "Dear ../Pay\\|ments &lt;script&gt;\\` (pay\\*@example.org),\n\n"
    assert text.startswith(f"{dear}Kafka {TARGET}: 2 clients")
    assert "By 1 May, for $0.\n\n## What to change\n" in text
    assert text.endswith("\n\nYours, the team\n")
    assert "Appendix" not in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\n$nobody", "line 2: $nobody stands for nothing; known are $addressee, $appendix, $changes, "),
        ("5 $", "line 1: $ stands for nothing; known are "),
        (None, "cannot be read: "),
    ],
)
def test_a_template_that_is_wrong_is_named(text: str | None, says: str, sent: Sent, tmp_path: Path, ask: Any) -> None:
    template = tmp_path / "t.md"
    if text is not None:
        template.write_text(text)
    answer = ask(*sent.line("--template", template))
    assert answer.code == 2
    assert f"--template {template}" in answer.err
    assert says in answer.err


def test_it_names_the_versions_that_a_release_takes() -> None:
    none = "none, because it does not have this API"
    taken = {"PRODUCE": "v3 to v12", "LEADER_AND_ISR": none, "API_999": none}
    assert {api: message_changes.accepted_versions("4.0.1", api) for api in taken} == taken
    assert message_changes.accepted_versions("0.10.0.1", "LIST_OFFSETS") == "v0"


@pytest.mark.parametrize(
    ("refused", "taken"),
    [((0, 3), "v1 to v2 and v4 to v5"), ((1, 2, 3), "v0 and v4 to v5"), (range(6), "none"), ((), "v0 to v5")],
)
def test_versions_that_a_release_refuses_though_it_has_them_are_not_named(
    refused: Iterable[int], taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {(0, 5): "another reason", (1, 1): "version"} | {(0, version): "version" for version in refused}
    broker = Release("x", tried=True, apis={0: ApiRange(0, 5)}, refused=answers)
    monkeypatch.setattr(message_changes, "release", lambda _: broker)
    assert message_changes.accepted_versions("x", "PRODUCE") == taken


@given(st.text(min_size=1), st.text(min_size=1))
@example("x" * 61, "x" * 62)
def test_file_names_are_safe_and_differ(one: str, other: str) -> None:
    names = [Message(Owner(name), TARGET, "").file_name for name in (one, other)]
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,68}\.md", name) for name in names)
    assert (names[0] == names[1]) == (one == other)
    assert Message(None, TARGET, "").file_name not in names


def test_a_folder_that_cannot_be_made_is_named(sent: Sent, tmp_path: Path, ask: Any) -> None:
    (tmp_path / "file").write_text("")
    answer = ask(*sent.line("--messages", tmp_path / "file"))
    assert answer.code == 1
    assert f"--messages {tmp_path}/file cannot be made" in answer.err


@pytest.mark.parametrize("token", ["", "s3cret"])
def test_each_is_posted_once(sent: Sent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Any, token: str) -> None:
    monkeypatch.setenv(TOKEN, token)
    with receiver() as (url, got):
        answer = ask(*sent.line("--webhook", url, "--messages", tmp_path / "m"))
    assert answer.code == 3
    assert [(body["owner"], body["contact"]) for *_, body in got] == [(PAYMENTS, "pay*@example.org"), (None, None)]
    assert {body["target"] for _, _, body in got} == {TARGET}
    assert {body["markdown"] for _, _, body in got} == {path.read_text("utf-8") for path in (tmp_path / "m").iterdir()}
    assert {headers.get("Authorization") for _, headers, _ in got} == {f"Bearer {token}" if token else None}
    assert {headers["Content-Type"] for _, headers, _ in got} == {"application/json"}
    assert "Messages posted to http://127.0.0.1:" in answer.out
    assert not [secret for secret in ("s3cret", "secret-path") if secret in answer.out + answer.err]


@pytest.mark.parametrize("answer", [302, 307, 400, 503])
def test_refused_posts_are_told_without_secrets(
    sent: Sent, monkeypatch: pytest.MonkeyPatch, ask: Any, answer: int
) -> None:
    monkeypatch.setenv(TOKEN, "s3cret")
    with receiver(answer, after=1) as (url, got):
        code, out, err = ask(*sent.line("--webhook", url))
    assert (code, len(got)) == (1, 2)  # no redirect is followed
    assert f"answered {answer}; it has 1 of 2 messages" in err
    assert not [secret for secret in ("s3cret", "secret-path") if secret in out + err]


AT = datetime(2026, 11, 21, 18, 55, tzinfo=UTC)
SENDER = dict.fromkeys(CLIENT) | {"cluster": "c", "broker": "broker-3", "remote_host": "h", "requests": 215}
SENDER |= {"first_at": AT, "last_at": AT, "is_known": False}
KNOWN = SENDER | {"is_known": True, "principal": "User:p", "client_id": "a*pp"}
KNOWN |= dict.fromkeys(("client_software_name", "client_software_version"), "unknown")
OF_HOST = "Broker broker-3 of cluster c has refused 215 requests from h since 2026-11-21 18:55, the last one at 2026-11-21 18:55"
NOT_SAID = "Which client of a host sent the requests without a client, the logs do not say"


@pytest.mark.parametrize(
    ("sender", "impact", "title", "of_client"),
    [
        (SENDER, OwnerImpact(), "some of their hosts' requests are refused already\n", ""),
        (KNOWN, OwnerImpact(refused_senders=[KNOWN], refused_already=1), "requests of 1 client are refused already\n",
         ": client a\\*pp (unknown, principal User:p)"),
    ],
    ids=["by nobody who is known", "by a client"],
)  # fmt: skip
def test_what_brokers_refuse_already_comes_first_and_is_told_to_whom_it_may_be(
    sender: dict[str, Any], impact: OwnerImpact, title: str, of_client: str
) -> None:
    """Another owner of the host hears of it only if no client is known; the logs are those of the clusters of its clients."""
    impact.hosts = {("c", "h")}
    other = OwnerImpact(hosts={("c", "h") if of_client else ("other", "h")})
    facts = Facts(
        TARGET,
        {"c": ["Logs of c."], "other": ["Logs of another."]},
        refused=[sender, SENDER | {"remote_host": "elsewhere"}],
    )
    (message,) = messages.messages({Owner("its"): impact, Owner("other"): other}, facts)
    assert message.owner == Owner("its")
    head, refused = message.markdown.split("\n## ")[:2]
    assert head.startswith(f"# Kafka {TARGET}: no client of its would stop working; {title}")
    already = (
        "1 client already cannot do all that is tried, as today's brokers refuse some requests. A client is a program"
    )
    assert (already in head) == bool(of_client)
    assert refused.startswith(f"Refused already\n\n- {OF_HOST}{of_client}.\n")
    assert (NOT_SAID in refused) == (not of_client)
    assert "\n## How this is known\n\n- Logs of c.\n" in message.markdown


def test_the_title_names_the_only_client() -> None:
    for clients, title in (
        ({"refused": 1}, "your client app\\* would stop working"),
        ({"refused": 1, "accepted": 1}, "1 of 2 clients of Search would stop working"),
        ({"accepted": 1}, "no client of Search would stop working"),
    ):
        impact = OwnerImpact(uses=[{"client_id": "app*", "verdict": "refused"}])
        impact.clients |= clients
        assert message_text._title(Owner("Search"), impact, Facts("4.0.1")) == f"Kafka 4.0.1: {title}"


def test_topics_and_groups_that_only_may_be_its_own_are_called_so() -> None:
    row = row_of(api_name="PRODUCE", api_version=2)
    client = tuple(row[name] for name in CLIENT)
    lost = Lost({client: ["its"]}, {}, {client: ["any"]}, {client: ["g"]})
    text = message_text._changes([row], Facts(TARGET, lost=lost))
    others = "of clients with this id at that time,** some of which may be of other programs"
    assert f"- **Topics:** its\n- **Topics {others}: any\n- **Consumer groups {others}: g\n" in text
