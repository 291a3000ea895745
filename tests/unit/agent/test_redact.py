import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.redact import MASK, redact, redact_values

# Put together here, so that no scanner takes this file for a leak.
LETTERS = string.ascii_letters[:24]
SECRETS = {
    "slack": "xoxb-" + "1234567890-" + LETTERS,
    "slack app": "xapp-" + "1-A0-" + LETTERS,
    "github": "ghp_" + LETTERS,
    "github fine": "github_pat_" + LETTERS,
    "gitlab": "glpat-" + LETTERS,
    "aws": "AKIA" + "ABCDEFGHIJKLMNOP",
    "google": "AIza" + LETTERS + "0123456789",
    "openai": "sk-" + LETTERS,
    "jwt": "eyJ" + LETTERS + "." + LETTERS + "." + LETTERS,
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY-----",
    "cut off private key": "-----BEGIN PRIVATE KEY-----\nabc\ndef",
}
ORDINARY = st.text(alphabet=string.ascii_lowercase + " .,;#()\n", max_size=200)
SECRET = st.sampled_from(sorted(SECRETS.values()))
NAMED = st.builds(
    "{}{}{}".format,
    st.sampled_from(["password", "API_KEY", "token", '"secret"', "access-key"]),
    st.sampled_from(["=", ": ", " = "]),
    st.sampled_from(["hunter2", '"two words"', "'quoted'", MASK, "a]b", "[x]", "x)y"]),
)
MIXED = st.lists(st.one_of(ORDINARY, SECRET, NAMED, st.text(max_size=40), st.just(MASK))).map(" ".join)


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_masked_and_the_words_around_it_stay(kind):
    assert redact(f"before {SECRETS[kind]}").startswith(f"before {MASK}")
    assert SECRETS[kind][8:] not in redact(f"before {SECRETS[kind]} after")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdefgh1234", f"Authorization: Bearer {MASK}"),
        ("basic  dXNlcjpwYXNz", f"basic  {MASK}"),
        ("postgres://user:pa55@db/orders", f"postgres://{MASK}@db/orders"),
        ("redis://:pa55@cache:6379", f"redis://{MASK}@cache:6379"),
        ("password=hunter2, retries=3", f"password={MASK}, retries=3"),
        ('{"api_key": "a b c", "tier": 1}', f'{{"api_key": {MASK}, "tier": 1}}'),
        ("token: 'x y' stays", f"token: {MASK} stays"),
    ],
)
def test_a_named_secret_keeps_its_name(text, expected):
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "the password policy changed",
        "https://wiki.example.org/token-service?page=2",
        "the bearer of bad news",
        "sum(rate(http_requests_total{code=~'5..'}[5m])) by (service)",
        "ghp_short sk-short xoxb-1",
        "mail ops@example.org",
    ],
)
def test_text_about_secrets_stays_as_it_was(text):
    assert redact(text) == text


@given(ORDINARY)
def test_ordinary_text_stays_as_it_was(text):
    assert redact(text) == text


@given(MIXED)
def test_redacting_twice_changes_nothing_more(text):
    once = redact(text)
    assert redact(once) == once


@given(ORDINARY, SECRET, ORDINARY)
def test_no_secret_gets_through_whatever_is_around_it(before, secret, after):
    assert secret not in redact(f"{before} {secret} {after}")


def test_a_value_whose_key_names_a_secret_is_masked_whole():
    values = {"password": "two words", "Api_Key": "x", "token": "", "service": "shop", "note": "password=x"}
    assert redact_values(values) == {
        "password": MASK,
        "Api_Key": MASK,
        "token": "",
        "service": "shop",
        "note": f"password={MASK}",
    }


@pytest.mark.parametrize("key", ["db_password", "CLIENT_SECRET", "x-api-key"])
def test_a_key_that_ends_in_the_name_of_a_secret_counts_too(key):
    assert redact_values({key: "hunter2"}) == {key: MASK}
