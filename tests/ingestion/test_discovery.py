"""What LOGS name, here: files, folders, globs, and names that are not ordinary files."""

import os
import re
import socket
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import InputError
from kafka_clientinfo.ingestion.discovery import delivered_logs, find_logs, listed_logs, matches
from kafka_clientinfo.ingestion.plan import make_plan
from tests.builders import json_record
from tests.ingestion.stored_logs import LOG, save


def paths(*items: Path | str) -> list[str]:
    return [file.path for file in find_logs([str(item) for item in items])]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in ("b1/kafka-request.log", "b1/kafka-request.log.2026-11-21-02", "b2/deep/kafka-request.log.gz"):
        save(tmp_path / name, LOG)
    save(tmp_path / "b1" / "server.log", LOG)
    return tmp_path


def test_one_log_may_be_given_alone_and_a_path_as_a_path(logs: Path) -> None:
    """A text is a sequence of texts too, and its first character is often the root of the file system."""
    log = logs / "b1" / "kafka-request.log"
    for one in (str(log), log, [log], (item for item in [str(log)])):
        assert [file.path for file in find_logs(one)] == [str(log)]
    assert listed_logs([log, "s3://logs/a"]) == [str(log), "s3://logs/a"]


def test_what_is_no_path_is_refused_by_its_type() -> None:
    for given_logs, shown in {b"/logs": "b'/logs', of type bytes", (3,): "3, of type int"}.items():
        with pytest.raises(InputError, match=re.escape(f"LOGS hold {shown}; give paths or URIs, as texts")):
            find_logs(given_logs)  # type: ignore[arg-type]


BOTH = ["b1/kafka-request.log", "b1/kafka-request.log.2026-11-21-02"]
PACKED = ["b2/deep/kafka-request.log.gz"]
FOUND = {
    "b1/kafka-request.log": BOTH[:1], "b1/server.log": ["b1/server.log"], "b1": BOTH, "b*/kafka-request.log.2*": BOTH[1:],
    "**/*.gz": PACKED, "**/kafka-request.log": BOTH[:1], "**/deep": PACKED, "b*/**/*.gz": PACKED, "b?/**/*.gz": PACKED,
    "b[2]/**/*.gz": PACKED, "b?": BOTH + PACKED, "b2 b2/deep b2/deep/kafka-request.log.gz": PACKED,
}  # fmt: skip


def test_it_finds_logs_by_file_folder_and_glob(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for items, found in FOUND.items():
        expected = [str(logs / name) for name in found]
        for begin in (f"{logs}/", f"file://{logs}/"):
            assert paths(*(begin + item for item in items.split())) == expected
    monkeypatch.chdir(logs)
    assert paths("b1/kafka-request.log") == [str(logs / "b1" / "kafka-request.log")]


def test_it_decodes_a_file_uri_unless_there_is_a_file_of_that_name(tmp_path: Path) -> None:
    plain = save(tmp_path / "a b" / "kafka-request.log", LOG)
    encoded = save(tmp_path / "a%20c" / "kafka-request.log", LOG)
    assert paths(f"file:{tmp_path}/a%20b", f"file:{tmp_path}/a%20c") == [str(plain), str(encoded)]


@pytest.mark.parametrize("item", ["b3", "b[34]"])
@pytest.mark.parametrize("name", [None, ".keep", ".staged/kafka.log"])
def test_a_folder_in_which_nothing_is_yet_is_no_mistake(logs: Path, item: str, name: str | None) -> None:
    """A hidden file does not count."""
    (logs / "b3" / "deeper").mkdir(parents=True)
    if name is not None:
        save(logs / "b3" / name, b"text\n")
    found = delivered_logs([str(logs / "b1"), str(logs / item)])
    assert found.empty == [str(logs / item)]
    assert [file.path for file in found.files] == paths(logs / "b1")


@pytest.mark.parametrize(
    ("item", "hint"),
    [
        ("nothing", "no such file"),
        ("b4*", "no such file"),
        ("**/x", "no such file"),
        ("kafka-request.log\0", "no such file"),
        ("notes", r"any other file there \(notes\)"),
    ],
)
def test_a_place_that_is_wrong_is_a_mistake_beside_one_that_is_right(tmp_path: Path, item: str, hint: str) -> None:
    """A folder is one too if there are files in it, and none of them is a log: they are named."""
    save(tmp_path / "notes" / "notes", b"text\n")
    (tmp_path / "b3").mkdir()
    with pytest.raises(InputError, match=hint):
        delivered_logs([str(tmp_path / "b3"), str(tmp_path / item)])


QUIET = b"[2026-11-24 02:03:11,100] INFO [GroupCoordinator 2]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)\n"
OF_CLIENT = b"[2026-11-24 02:03:11,100] INFO Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser)\n"


@pytest.mark.parametrize("item", ["", "*", "**/*.log"])
def test_a_broker_log_without_a_request_is_read_if_there_is_no_other(tmp_path: Path, item: str) -> None:
    quiet = save(tmp_path / "2026-11-25-02" / "Broker-1_02-05_c.log", QUIET)
    assert paths(tmp_path / item) == [str(quiet)]
    busy = save(tmp_path / "2026-11-25-02" / "Broker-2_02-05_d.log", LOG)
    assert str(busy) in paths(tmp_path / item)


def test_the_log_of_a_client_is_no_broker_log(tmp_path: Path) -> None:
    save(tmp_path / "app.log", OF_CLIENT)
    with pytest.raises(InputError, match=r"any other file there \(app.log\)"):
        find_logs([str(tmp_path)])


def test_it_names_the_first_files_of_a_folder_without_a_log(tmp_path: Path) -> None:
    for name in "gfeda":
        save(tmp_path / name, b"nothing\n")
    os.mkfifo(tmp_path / "c")
    save(tmp_path / "b", b"")
    with pytest.raises(InputError) as raised:
        find_logs([str(tmp_path)])
    assert str(raised.value) == (
        f"{tmp_path}: no kafka-request.log* below this folder, and no completed request at the beginning of any other file "
        "there (a, b, c, d, e and 2 more); give log files, folders that hold request logs, or quoted globs"
    )
    save(tmp_path / "kafka-request.log", b"")  # it has been delivered
    assert paths(tmp_path) == [str(tmp_path / "kafka-request.log")]


def test_it_reads_dbfs_where_databricks_mounts_it() -> None:
    said = "dbfs:/logs: dbfs:/ is read as /dbfs, which this machine does not have; give log files"
    with pytest.raises(InputError, match=said):
        find_logs(["dbfs:/logs"])


def test_it_follows_no_loop_of_links_and_names_each_file_once(logs: Path) -> None:
    (logs / "b1" / "loop").symlink_to(logs)
    (logs / "a-current").symlink_to(logs / "b1")
    (logs / "b2" / "kafka-request.log.1").symlink_to(logs / "b1" / "kafka-request.log")
    whole = [str(logs / "b1" / "kafka-request.log"), str(logs / "b2" / "deep" / "kafka-request.log.gz")]
    assert [path for path in paths(logs) if "2026" not in path] == whole
    assert paths(logs / "**" / "kafka-request.log") == whole[:1]
    assert paths(logs / "*" / "kafka-request.log") == whole[:1]


def test_it_follows_a_link_to_a_folder_elsewhere(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """As where a broker's logs were moved to another disk; each folder once, whatever links there are in it."""
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "b7"
    save(elsewhere / "kafka-request.log", json_record(client_id="b7"))
    before = paths(logs)
    for link, target in {"loop": elsewhere, "up": elsewhere.parent, "back": logs}.items():
        (elsewhere / link).symlink_to(target)
    for link, target in {"b7": elsewhere, "b8": elsewhere, "here": logs}.items():
        (logs / link).symlink_to(target)
    (added,) = (path for path in paths(logs) if path not in before)
    assert (Path(added).resolve(), added.startswith(str(logs))) == (elsewhere / "kafka-request.log", True)


def test_it_keeps_a_link_whose_file_is_named_nowhere_else(logs: Path) -> None:
    (logs / "b9").mkdir()
    (logs / "b9" / "kafka-request.log").symlink_to(logs / "b1" / "kafka-request.log")
    assert paths(logs / "b9") == [str(logs / "b9" / "kafka-request.log")]


@pytest.mark.parametrize("name", ["kafka-request.log", "odd"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "dangling", "loop", "device"])
def test_it_reports_a_log_that_is_no_regular_file_and_waits_for_none(
    tmp_path: Path, kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name must be short
    odd, good = Path("b1") / name, save(tmp_path / "b2" / "0.log", LOG)
    odd.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(str(odd))
    else:
        odd.symlink_to({"dangling": "nowhere", "loop": odd.name, "device": "/dev/zero"}[kind])
    plan = make_plan(find_logs([str(tmp_path)]), {}, Settings(), 1)
    problems = [(str(tmp_path / odd), "unreadable")] if name == "kafka-request.log" else []
    assert [(problem.path, problem.kind) for problem in plan.problems] == problems
    assert [file.path for file in plan.files] == [str(good)]


def test_it_looks_below_folders_with_the_name_of_a_log(tmp_path: Path) -> None:
    inside = save(tmp_path / "kafka-request.log.d" / "kafka-request.log", LOG)
    assert paths(tmp_path) == [str(inside)]


def test_it_reads_hidden_files_only_if_they_have_the_name_of_a_log(tmp_path: Path) -> None:
    """Editors and copying tools keep parts of a log in hidden files beside it."""
    inside = save(tmp_path / ".hidden" / "kafka-request.log", LOG)
    for name in ("b1/.requests.swp", ".hidden/requests"):
        save(tmp_path / name, LOG)
    assert paths(tmp_path) == [str(inside)]


@pytest.mark.parametrize("name", ["b2", ".hidden"])
def test_it_reports_a_folder_that_cannot_be_listed(logs: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir
    (logs / "b2").rename(logs / name)

    def refuse(path: str) -> object:
        if str(path).endswith(name):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    plan = make_plan(find_logs([str(logs)]), {}, Settings(), 1)
    assert [(problem.path, problem.kind) for problem in plan.problems if problem.kind != "copy"] == [
        (f"{logs}/{name}/", "unreadable")
    ]
    assert [file.path for file in plan.files] == [str(logs / "b1" / "kafka-request.log")]


@pytest.mark.parametrize(
    "folder", [b"with blanks", "Ünïcödé 日本".encode(), b"\xff\xfe broken", b"new\nline", b"a?b[c]*"]
)
def test_it_reads_files_whatever_their_names(tmp_path: Path, folder: bytes) -> None:
    path = os.path.join(os.fsencode(tmp_path), folder, b"kafka-request.log")
    os.mkdir(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(json_record() * 2)
    (found,) = find_logs([str(tmp_path)])
    assert found == find_logs([os.fsdecode(path)])[0]
    (planned,) = make_plan([found], {}, Settings(), 1).files
    assert planned.path.encode()
    assert planned.broker == folder.decode("utf-8", "backslashreplace")


@pytest.mark.parametrize("item", ["file:", "file://", "dbfs:", "", " "])
def test_what_names_no_place_is_not_the_root(item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.walk", lambda *_, **__: pytest.fail("a folder was walked"))
    with pytest.raises(InputError, match="which names no place; give log files, folders or globs"):
        find_logs([item])


@given(st.lists(st.sampled_from("ab")).map(tuple), st.lists(st.sampled_from(["**", "*", "a"]), max_size=6).map(tuple))
def test_a_glob_matches_part_by_part(parts: tuple[str, ...], pattern: tuple[str, ...]) -> None:
    forms = {"**": "(?:[ab]/)*", "*": "[ab]/", "a": "a/"}
    expected = re.fullmatch("".join(forms[part] for part in pattern), "".join(f"{part}/" for part in parts))
    assert matches(parts, pattern) is (expected is not None)


@pytest.mark.parametrize(("entry", "is_log"), [("kafka-request.log", True), ("libs/kafka.jar", False)])
def test_a_zip_of_logs_beside_a_log_is_named(tmp_path: Path, entry: str, is_log: bool) -> None:
    (tmp_path / "kafka-request.log").write_bytes(json_record())
    with zipfile.ZipFile(tmp_path / "old.ZIP", "w") as archive:
        archive.writestr(entry, json_record())
    plan = make_plan(find_logs([str(tmp_path)]), {}, Settings(), 1)
    assert [problem.detail for problem in plan.problems] == ["a zip archive; unpack it"] * is_log
    assert len(plan.files) == 1
