"""The releases that behave as a connection's client does; the connections are those of client_behaviour."""

import pytest

from kafka_clientinfo.releases.client_signatures import client_signatures, words
from tests.concerns.cases import Judged
from tests.concerns.client_behaviour.test_client_behaviour import CASES


@pytest.mark.parametrize("name", CASES)
def test_releases_that_fit_may_have_sent_every_request(judged: Judged, name: str) -> None:
    (row,) = judged.connections[name]
    for number, one in enumerate(client_signatures()):
        fits = any(row[f"fitting_{place}"] & word for place, word in enumerate(words([number])))
        may_send = all(
            any(one.may_send(sent_["api_name"], sent_["api_version"], offered) for offered in (*range(20), None))
            for sent_ in CASES[name]
            if sent_["api_name"] not in ("API_VERSIONS", "SASL_HANDSHAKE", "SASL_AUTHENTICATE")
        )
        assert may_send or not fits, one


def test_telling_is_what_a_script_would_not_ask(judged: Judged) -> None:
    telling = {name for name in CASES if judged.connections[name][0]["is_telling"]}
    assert telling == CASES.keys() - {
        "asks for versions only", "asks the same again", "tries many versions", "asks for versions later"
    }  # fmt: skip
