"""The releases that behave as a connection's client does; the connections are those of client_behaviour."""

import pytest

from kafka_clientinfo.releases.client_libraries import may_be_held_down
from kafka_clientinfo.releases.client_signatures import client_signatures
from tests.concerns.cases import Judged
from tests.concerns.client_behaviour.test_client_behaviour import CASES


@pytest.mark.parametrize("name", CASES)
def test_releases_that_fit_may_have_sent_every_request(judged: Judged, name: str) -> None:
    (row,) = judged.connections[name]
    fitting = {one["software_name"]: (one["versions_from"], one["versions_to"]) for one in row["fitting_software"]}
    assert fitting.keys() <= {one.software for one in client_signatures()}
    for one in client_signatures():
        first, last = fitting.get(one.software, (None, None))
        may_send = all(
            any(one.may_send(sent_["api_name"], sent_["api_version"], offered) for offered in (*range(20), None))
            for sent_ in CASES[name]
            if sent_["api_name"] not in ("API_VERSIONS", "SASL_HANDSHAKE", "SASL_AUTHENTICATE")
        )
        ends = one.versions_to == last and not may_be_held_down(one.software)
        assert may_send or (one.versions_from != first and not ends), one


def test_telling_is_what_a_script_would_not_ask(judged: Judged) -> None:
    telling = {name for name in CASES if judged.connections[name][0]["is_telling"]}
    assert telling == CASES.keys() - {
        "asks for versions only", "asks the same again", "tries many versions", "asks for versions later"
    }  # fmt: skip
