"""Principals that name a connection, a session or a token have a normal form: the part that all connections of a client share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs.principals import normal_principal

ARN = "arn:aws:sts::111122223333:assumed-role/orders/i-0abc"
UUID = "00079d61-baba-497e-87c2-80c46608f1d0"
PRINCIPALS: dict[str | None, str | None] = {
    f"[IAM]:[{ARN}]:[10.0.0.1:9098-10.0.0.2:4100-7]:[{UUID}]": f"[IAM]:[{ARN}]",
    f"[IAM]:[{ARN}]:[INTERNAL_IP-65.1.63.214:33245-169]:[{UUID}]": f"[IAM]:[{ARN}]",
    "OAuthKafkaPrincipal(User:orders, groups: null, session: 1482011, token: eyJh**0000w)": "User:orders",
    "OAuthKafkaPrincipal(User:a, b, groups: [x, y], session: -7, token: z)": "User:a, b",
    "OAuthKafkaPrincipal(User:a, groups: null, session: , token: )": "User:a",
    "OAuthKafkaPrincipal(User:a, groups: [], session: null, token: null)": "User:a",
    "OAuthKafkaPrincipal(User:a, session:100, token:eyJh**0000w)": "User:a",
    "OAuthKafkaPrincipal(User:a, groups: x, session: 1, token: y), groups: null, session: 2, token: z)": "User:a, groups: x, session: 1, token: y)",
    # Nothing else is cut: these may be anybody's names.
    f"[IAM]:[{ARN}]": f"[IAM]:[{ARN}]",
    f"[IAM]:[{ARN}]:[x]:[no uuid]": f"[IAM]:[{ARN}]:[x]:[no uuid]",
    f"User:[IAM]:[{ARN}]:[x]:[{UUID}]": f"User:[IAM]:[{ARN}]:[x]:[{UUID}]",
    "OAuthKafkaPrincipal(User:orders)": "OAuthKafkaPrincipal(User:orders)",
    "User:CN=orders,OU=session 7": "User:CN=orders,OU=session 7",
    "": "",
    None: None,
}


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_only_what_changes_is_cut(principal: str | None) -> None:
    assert normal_principal(principal) == PRINCIPALS[principal]


@given(st.one_of(st.text(), st.sampled_from([text for text in PRINCIPALS if text is not None])))
def test_the_form_of_a_form_is_the_same(principal: str) -> None:
    once = normal_principal(principal)
    assert normal_principal(once) == once
