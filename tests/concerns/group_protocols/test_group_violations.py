"""What groups break of KIP-559, with the request that shows it, and the message."""

import pytest

from kafka_clientinfo.config.rules import rules
from tests.concerns.group_protocols.groups import NAMES, Found, plain

# rule: group or connection; seconds of the first and the last, and correlation id of the example; how many of the requests
# the broker rejected, and how many it took; message
VIOLATIONS = {
    "group_name_mismatch": ("chosen otherwise", (1, 1, 1), (1, 0), NAMES["chosen otherwise"][1]),
    "group_type_mismatch": (
        "mismatch", (0, 0, 0), (0, 0), "JOIN_GROUP v7 with protocol type 'consumer' was answered with 'connect'",
    ),
    "inconsistent_group_protocol": (
        "inconsistent", (5, 9, 5), (3, 0), "group 'inconsistent' was answered with INCONSISTENT_GROUP_PROTOCOL, some of it "
        "though no member in the log has another protocol",
    ),
    "mixed_protocol_types": (
        "members of different types", (1, 4, 1), (2, 1), "group 'members of different types' has members of type 'connect' "
        "at the same time as those of 'consumer'",
    ),
}  # fmt: skip
OCCURRENCES = dict.fromkeys(VIOLATIONS, 1) | {"inconsistent_group_protocol": 3, "mixed_protocol_types": 4}


@pytest.mark.kip("KIP-559", 15, 17)
@pytest.mark.parametrize("rule", VIOLATIONS)
def test_its_violations_say_what_was_found_and_whether_the_broker_enforced_the_rule(found: Found, rule: str) -> None:
    name, times, enforced, message = VIOLATIONS[rule]
    row = found.violations[name, rule]
    assert row["message"] == f"{message}; {rules()[rule].asks}"
    assert row["occurrences"] == OCCURRENCES[rule]
    assert (plain(row["first_at"]), plain(row["last_at"]), row["example"]["correlation_id"]) == times
    assert (row["rejected"], row["taken"]) == enforced
    if rule == "mixed_protocol_types":  # members break it together
        assert (row["connection_id"], row["broker"], row["opened_at"], row["opened_seq"]) == (None, None, None, None)
    elif rule != "group_type_mismatch":  # of several that were refused, it is the first one
        who = (row["broker"], row["connection_id"], row["principal"], row["client_id"], row["remote_host"])
        assert who == ("b", name, "User:ANONYMOUS", "app", "10.0.0.9")


def test_no_other_case_breaks_a_rule(found: Found) -> None:
    refused = ("members of different types", "chosen otherwise", "several")
    enforced = {(name, "inconsistent_group_protocol") for name in refused}
    names = {(name, "group_name_mismatch") for name in (*NAMES, "several")}
    assert set(found.violations) == {(name, rule) for rule, (name, *_) in VIOLATIONS.items()} | enforced | names


def test_another_name_in_an_answer_blames_the_broker(found: Found) -> None:
    """A coordinator that takes a request and names another protocol contradicts itself."""
    blamed = {"not offered": "broker", "answered otherwise": "broker"}
    blamed |= dict.fromkeys(("chosen otherwise", "offered otherwise", "several"), "either")
    assert {name: found.violations[name, "group_name_mismatch"]["blames"] for name in blamed} == blamed


@pytest.mark.kip("KIP-559", 18)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_was_not_offered_chosen_or_answered_is_found(found: Found, name: str) -> None:
    row = found.violations[name, "group_name_mismatch"]
    assert row["message"].startswith(NAMES[name][1] + "; ")
    assert (row["occurrences"], row["group_id"], row["connection_id"]) == (1, name, name)
    assert found.groups[name]["protocol_name_mismatches"] == 1


def test_the_first_of_several_names_and_of_several_refusals_is_the_example(found: Found) -> None:
    row = found.violations["several", "group_name_mismatch"]
    assert row["message"].startswith("SYNC_GROUP v5 with protocol name 'range' was answered with 'x'; ")
    assert (row["occurrences"], plain(row["first_at"]), plain(row["last_at"])) == (3, 2, 4)
    assert (row["rejected"], row["taken"], row["example"]["correlation_id"]) == (1, 2, 2)
    row = found.violations["several", "inconsistent_group_protocol"]
    assert (row["occurrences"], plain(row["first_at"]), plain(row["last_at"])) == (2, 4, 4.5)
    assert row["example"]["correlation_id"] == 4
