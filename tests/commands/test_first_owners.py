"""A file of owners to begin with, and what a file of owners leaves open: clients of nobody, and rules without a client."""

import stat
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands import first_owners
from kafka_clientinfo.config.owners import Owner, load_owners
from tests.commands.fleet_on_disk import HOSTILE, fleet, use

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
ROLE = "[IAM]:[arn:aws:sts::111122223333:assumed-role/orders/i-0"
ONE = "# 1 connection from 1 host, such as 10.1.0.1"
TWO = "# 2 connections from 1 host, such as 10.1.0.1"
MASKED = "# 1 connection, hosts masked or not logged"
OF_NOBODY = (
    "console-producer", "consumer-1", "consumer-console-consumer-77-1", "kgo", "producer-12", "rdkafka", "sarama",
)  # fmt: skip
NOBODYS = (
    "# These client ids are chosen by libraries or tools, and belong to nobody: give owners by hosts, groups or topics."
)


KINDS = ("principals =", "client_ids =")


def rule(owner: str, key: str, pattern: str) -> list[str]:
    return ["[[owners]]", f"owner = '{owner}'", f"{key} = ['{pattern}']"]


CASES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "one role": (
        [use("app", "10.1.0.1", principal=f"{ROLE}{end}]") for end in "ab"],
        [TWO, f"# {ROLE}a], {ROLE}b]", *rule("orders", "principals", ".*assumed-role/orders/.*")],
    ),
    "two programs": (
        [use("app-1", None, topics=["a"]), use("app-2", None, topics=["b"])],
        [MASKED, *rule("app-1", "client_ids", "app-1"), MASKED, *rule("app-2", "client_ids", "app-2")],
    ),
    "one program": (
        [use("app-1", "10.1.0.1", topics=["a"]), use("app-2", "10.1.0.2", topics=["a"])],
        ["# 2 connections from 2 hosts, such as 10.1.0.1", "# app-1, app-2", *rule("app", "client_ids", r"app-\d+")],
    ),
    "numbers in names": (
        [use(name, "10.1.0.1") for name in ("j332-c1", "j01022-c1", "j01022-c2")],
        [TWO, "# j01022-c1, j01022-c2", *rule("j01022-c", "client_ids", r"j01022-c\d+"),
         ONE, *rule("j332-c", "client_ids", r"j332-c\d+")],
    ),
    "numbers between": (
        [use(name, "10.1.0.1") for name in ("app-1-x", "app-2-x", f"job-{UUID}")],
        [TWO, "# app-1-x, app-2-x", *rule("app-x", "client_ids", r"app-\d+-x"),
         ONE, *rule("job", "client_ids", "job-[0-9a-f-]{36}")],
    ),
    "pods": (
        [use(f"billing-{end}", "10.1.0.1") for end in ("7f9c6d5b8-5sl68", "5d8f7c9b4-zz4hq")],
        [TWO, "# billing-5d8f7c9b4-zz4hq, billing-7f9c6d5b8-5sl68", *rule("billing", "client_ids", "billing-[0-9a-z]+-[0-9a-z]+")],
    ),
    "a group": (
        [use("consumer-pay.all-1", "10.1.0.1")], [ONE, *rule("pay.all", "client_ids", r"consumer-pay\.all-\d+")],
    ),
    "a quote": ([use("it's", "10.1.0.1")], [ONE, "[[owners]]", 'owner = "it\'s"', 'client_ids = ["it\'s"]']),
    "of nobody": (
        [use(name, "10.1.0.1") for name in OF_NOBODY], [NOBODYS, *(f"#   {name}: {ONE[2:]}" for name in OF_NOBODY)],
    ),
}  # fmt: skip
USES = (
    use("app-1", "10.1.0.1", principal="User:pay.ments"),
    use("app-2", "10.1.0.2", principal="User:pay.ments"),
    use("search-17", "10.2.0.1"),
    use("search-18", "10.2.0.2"),
    use("search-19", "10.2.0.3"),
    use(HOSTILE, "10.3.0.1"),
    use(None, "10.3.0.2", principal=None),
    use("broker", "10.4.0.1", role="broker"),
    *(one | {"cluster": name} for name, (its, _) in CASES.items() for one in its),
)
"""The clients of cluster c, and a cluster for each case."""


def test_it_begins_with_a_rule_for_each_principal_or_kind_of_id(warehouse: Path, tmp_path: Path, ask: Any) -> None:
    path = tmp_path / "owners.toml"
    line = ("clients", "--warehouse", warehouse, "--cluster", "c", "--init-owners", path)
    assert ask(*line) == (0, f"Wrote {path}; correct the owners in it, then give it with --owners.\n", "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rules = load_owners(str(path)).rules
    assert [(rule.owner.name, {kind: texts for kind, texts in rule.patterns.items() if texts}) for rule in rules] == [
        ("pay.ments", {"principals": (r"User:pay\.ments",), "clusters": ("c",)}),
        ("search", {"client_ids": (r"search-\d+",), "clusters": ("c",)}),
    ]
    assert "# 3 connections from 3 hosts, such as 10.2.0.1\n" in path.read_text("utf-8")
    answer = ask(*line)
    assert (answer.code, "is there already; name a new file" in answer.err) == (2, True)


@pytest.mark.parametrize("name", CASES)
def test_a_program_is_a_rule(
    name: str, warehouse: Path, tmp_path: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    uses, lines = CASES[name]
    topics = {
        (name, one.get("principal", "User:ANONYMOUS"), one["client_id"], "kgo", "v1.0"): one.get("topics", ())
        for one in uses
    }
    monkeypatch.setattr(first_owners, "topics_of_clients", lambda _: topics)
    path = tmp_path / "owners.toml"
    assert ask("clients", "--warehouse", warehouse, "--cluster", name, "--init-owners", path).code == 0
    _, _, rules = path.read_text("utf-8").partition("rules.\n")
    # The warehouse has other clusters.
    with_cluster = [(line, f"clusters = ['{name}']") if line.startswith(KINDS) else (line,) for line in lines]
    assert list(filter(None, rules.splitlines())) == [line for both in with_cluster for line in both]
    if "[[owners]]" in lines:
        assert len(load_owners(str(path)).rules) == lines.count("[[owners]]")


A, B, EVERYWHERE = ("a",), ("b.1",), ()
SEVERAL: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str, tuple[str, ...]]]]] = {
    "seen in one": ([use("app", "10.1.0.1", cluster="a")], [("app", "app", A)]),
    "the same in both": (
        [use("app", "10.1.0.1", cluster=c, topics=["t"], groups=["g"]) for c in ("a", "b.1")],
        [("app", "app", EVERYWHERE)],
    ),
    "other topics": (
        [use("app", "10.1.0.1", cluster=c, topics=[c]) for c in ("a", "b.1")],
        [("app (a)", "app", A), ("app (b.1)", "app", B)],
    ),
    "other groups": (
        [use("app", "10.1.0.1", cluster=c, groups=[c]) for c in ("a", "b.1")],
        [("app (a)", "app", A), ("app (b.1)", "app", B)],
    ),
    "other topics of one principal": (
        [use("x", "10.1.0.1", cluster=c, topics=[c], principal="User:p") for c in ("a", "b.1")],
        [("p (a)", "User:p", A), ("p (b.1)", "User:p", B)],
    ),
    "one program here, and two there": (
        [use(f"app-{n}", "10.1.0.1", cluster=c, topics=[f"{c} {n}" if c == "a" else "t"]) for n in "12" for c in ("a", "b.1")],
        [("app", r"app-\d+", B), ("app-1", "app-1", A), ("app-2", "app-2", A)],
    ),
}  # fmt: skip
"""Clients in the clusters a and b.1, and the rules: owner, pattern and clusters."""


@pytest.mark.parametrize("name", SEVERAL)
def test_a_rule_is_for_the_clusters_where_its_clients_do_the_same(
    name: str, tmp_path: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    uses, expected = SEVERAL[name]
    root = fleet(tmp_path / "w", [*uses, *(use("kgo", "10.9.0.1", cluster=c) for c in ("a", "b.1"))])
    topics = {
        (one["cluster"], one.get("principal", "User:ANONYMOUS"), one["client_id"], "kgo", "v1.0"): one.get("topics", ())
        for one in uses
    }
    monkeypatch.setattr(first_owners, "topics_of_clients", lambda _: topics)
    path = tmp_path / "owners.toml"
    assert ask("clients", "--warehouse", root, "--init-owners", path).code == 0
    owners = load_owners(str(path))
    found = [(r.owner.name, *r.patterns["principals"], *r.patterns["client_ids"]) for r in owners.rules]
    assert found == [(owner, pattern) for owner, pattern, _ in expected]
    for rule, (*_, clusters) in zip(owners.rules, expected, strict=True):
        assert rule.patterns["clusters"] == tuple(one.replace(".", r"\.") for one in clusters)


LEFT_OUT = "# Without a rule: {}, being empty, longer than 255 characters, or with characters"


@pytest.mark.parametrize(
    ("uses", "left_out"),
    [
        ([use("a" * 255, "10.1.0.1")], None),
        ([use(None, "10.1.0.1"), use("", "10.1.0.1"), use("a" * 256, "10.1.0.1")], "2 client ids"),
        ([use("x\ny", "10.1.0.1"), use("x", "10.1.0.1", principal="User:\n")], "1 client id and 1 principal"),
    ],
)
def test_what_no_pattern_can_name_is_counted(
    uses: list[dict[str, Any]], left_out: str | None, tmp_path: Path, ask: Any
) -> None:
    path = tmp_path / "owners.toml"
    assert (
        ask(
            "clients", "--warehouse", fleet(tmp_path / "w", [*uses, use("app", "10.1.0.1")]), "--init-owners", path
        ).code
        == 0
    )
    lines = path.read_text("utf-8").splitlines()
    assert [line for line in lines if LEFT_OUT.format(left_out) in line] == [
        line for line in lines if "Without" in line
    ]
    assert any("Without" in line for line in lines) is (left_out is not None)
    assert load_owners(str(path)).of(client_ids=["a" * 255]) == (None if left_out else Owner("a" * 200))


def test_beside_owners_it_has_rules_for_the_rest(warehouse: Path, tmp_path: Path, ask: Any) -> None:
    known, path = tmp_path / "known.toml", tmp_path / "more.toml"
    known.write_text(
        "[[owners]]\nowner = 'S'\nclient_ids = ['search-.*']\n[[owners]]\nowner = 'Gone'\nclient_ids = ['gone']\n"
    )
    line = ("clients", "--warehouse", warehouse, "--cluster", "c", "--owners", known, "--init-owners")
    idle = "Rules for owners that fit no client, or only those of earlier rules: 2 (Gone).\n"
    assert ask(*line, path).out.endswith(idle)
    assert [rule.owner.name for rule in load_owners(str(path)).rules] == ["pay.ments"]
    known.write_text(
        "[[owners]]\nowner = 'all'\nprincipals = ['.*']\nclient_ids = ['.*']\n[[owners]]\nowner = 'b'\nhosts = ['0.0.0.0/0']\n"
    )
    since = ("clients", "--warehouse", warehouse, "--since", "2030-01-01", "--init-owners")
    for words, says in (
        (line, "No client without an owner fits --cluster c"),
        (since, "No client fits --since 2030-01-01"),
    ):
        answer = ask(*words, tmp_path / "none.toml")
        assert (answer.code, says in answer.err) == (2, True)
    assert not (tmp_path / "none.toml").exists()


def test_clients_of_nobody_come_first_and_idle_rules_are_named(warehouse: Path, tmp_path: Path, ask: Any) -> None:
    path = tmp_path / "owners.toml"
    rules = (r"client_ids = ['search-\d+']", "client_ids = ['gone']", "client_ids = ['search-17']")
    path.write_text("".join(f"[[owners]]\nowner = 'o{place}'\n{rule}\n" for place, rule in enumerate(rules)))
    line = ("clients", "--warehouse", warehouse, "--cluster", "c", "--owners", path)
    idle = "Rules for owners that fit no client, or only those of earlier rules: 2 (o1), 3 (o2)."
    text = ask(*line).out
    assert (idle in text, "search-17" in text) == (True, False)
    places = [text.index(name) for name in ("2 ids: app-#", "3 ids: search-#", "Client ids that differ by numbers")]
    assert places == sorted(places)
    text = ask(*line, "--client", "search-*").out
    assert text.index("search-17") < text.index("search-19")
    text = ask(*line, "--by", "owner").out
    assert idle in text
    assert [row.split()[0] for row in text.splitlines()[1:3]] == ["no", "o0"]
