"""Which columns the relations of a derivation have."""

from inspect import signature
from typing import Any

import pytest

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import running_on
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.connections.violations import violations
from kafka_clientinfo.ingestion.arrow_schema import REQUEST_TYPE
from kafka_clientinfo.runs import steps
from kafka_clientinfo.scan import MemoryTables
from kafka_clientinfo.scan.dataframe import SparkSession
from kafka_clientinfo.scan.memory import DUCKDB
from kafka_clientinfo.tables.spec import RUN, table_specs
from tests.concerns.cases import with_needed
from tests.frames import judge_requests, request
from tests.scan.golden import in_memory
from tests.scan.small_world import files_of, part_of

# Per relation: the columns that later steps read, beside those that its table declares.
READ_LATER = {
    "judged_requests": """
        answer_seq answered_error answered_protocol_type api_key api_name api_ranges api_version
        api_version_deprecated broker byte_offset client_id client_id_before client_id_is_like_a_brokers
        client_id_is_lost client_id_is_left_out client_id_is_other client_id_is_repeated client_id_is_same
        client_instance_id client_software_name client_software_version cluster connection_id correlation_id
        coverage earliest_at error_code falls_below_offer file_id first_client_id first_instance_id forged_lines
        forges_log_lines group_payloads group_type_mismatch knows_answer knows_refusal has_response
        header_version heard_until highest_correlation_id instance_id_is_different instance_id_is_missing
        instance_id_is_zero is_forwarded jumps known_software last_seq latest_at listener log_generation
        log_level logged_at lowest_correlation_id member_id offered_max opened_at opened_seq outlasts principal
        refuses_what_it_offers refuses_without_offer remote_host remote_port repeats replica_id request requests
        response security_protocol sent_software_name sent_software_version seq session_no software_is_changed
        software_is_invalid_by_kip software_is_reset software_name_is_invalid software_version_is_invalid
        stated_protocol_type states_bad_software telemetry_asked_with telemetry_given_id telemetry_sent_id
        watched_error went_on_after_inconsistent went_on_after_invalid_request
    """,
    "connections": """
        accepted_attempts accepted_software any_header_v3 asks_for_more_than_versions attempts first
        first_accepted first_stated_id first_telemetry_asked_with has_forwarded has_inter_broker
        has_inter_broker_api has_other_software has_replica has_several_client_ids ids_rise ignored_known_offer
        instance_id_rejected invalid_names invalid_versions is_brokers_host jumps last last_api_versions_error
        last_refused outlasts own_instance_id refused_names repeats software_after telemetry_in_header
        asked_versions asks_after_2_0 asks_more early_requests first_work handshake second_work fitting_software
        is_telling lowest_id possible_senders senders_0 senders_1 senders_2
    """,
    "persistent_errors": """
        api_name broker cluster codes connection_id first_at last_at opened_at opened_seq percent requests rule
        source
    """,
    "connection_groups": "first_mismatch last_mismatch_at mismatches_rejected mismatches_taken",
    "group_memberships": "broker cluster connection_id group_id memberships opened_at opened_seq unoffered_answers",
    "group_messages": """
        answer answered api_key api_name api_version broker cluster connection_id earliest_at error_code
        group_id is_of_answer is_rejected is_taken joined last_seq latest_at logged_at members name_mismatch
        opened_at opened_seq payloads refusal requests response_name response_type sent sent_type seq source
    """,
    "api_usage": """
        first_at_outside first_at_unsupported first_request first_request_outside first_request_unsupported
        last_at_outside last_at_unsupported requests_outside requests_unsupported
    """,
}


def test_only_relations_of_steps_are_listed() -> None:
    assert READ_LATER.keys() <= steps.steps().keys()


@pytest.fixture(scope="module")
def tables() -> MemoryTables:
    row = request("x", 0, file_id="fb", byte_offset=0)
    return in_memory([part_of("request", [row], REQUEST_TYPE)], files_of([row]), Settings())


@pytest.mark.parametrize("name", steps.steps())
def test_a_relation_has_no_column_that_nobody_reads(tables: MemoryTables, name: str) -> None:
    """Runs keep relations in memory; and a column that is left by mistake may hide one that a later step wants to make."""
    spec, read = table_specs().get(name), READ_LATER.get(name, "").split()
    declared = [] if spec is None else [column for column in spec.column_names if column != RUN]
    names = [column for column in tables.query(f"FROM {name} LIMIT 0").names if column != RUN]
    assert sorted(names) == sorted([*declared, *read])


@pytest.mark.parametrize("name", [concern.name for concern in concerns()])
def test_a_concern_names_all_that_it_reads_from_a_request(tables: MemoryTables, name: str) -> None:
    """With the columns that are shared and its own, everything that it makes of judged requests can be computed."""
    session, chosen = SparkSession(tables._database), with_needed(name)
    relations: dict[str, Any] = {"settings": Settings()}

    def made(relation: Any) -> Any:
        tables._database.sql(relation.sql())  # DuckDB looks for its columns, and computes nothing yet
        return relation

    with running_on(DUCKDB):
        judged = made(judge_requests(session.table("requests"), tables._files, Settings(), chosen))
        rows = made(connections(judged, Settings(), chosen))
        made(violations(judged, rows, [], Settings(), chosen))
        relations |= {"judged_requests": judged, "connections": rows}
        for transform in chosen[-1].transforms.values():
            if (needs := set(signature(transform).parameters)) <= {"judged_requests", "settings"}:
                made(transform(**{need: relations[need] for need in needs}))
