"""The files of certificates that a recorded command trusts."""

import base64
from pathlib import Path

import pytest

from addon import trust


def certificate(name: str) -> bytes:
    """What looks like one; nothing here looks into it."""
    return b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(name.encode() * 20) + b"\n-----END CERTIFICATE-----"


KEY = b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"
OURS, THEIRS, USUAL = certificate("ours"), certificate("theirs"), certificate("usual")


@pytest.fixture(autouse=True)
def few_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "usual", lambda: USUAL)


def bundles(tmp_path: Path, environment: dict[str, str]) -> dict[str, bytes]:
    made = trust.write_bundles(tmp_path, environment, OURS)
    return {name: Path(place).read_bytes() for name, place in made.items()}


def test_without_anything_named_the_usual_roots_and_ours_are_trusted(tmp_path: Path) -> None:
    made = bundles(tmp_path, {})
    assert set(made) == {
        "NODE_EXTRA_CA_CERTS",
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "AWS_CA_BUNDLE",
    }
    assert made["SSL_CERT_FILE"] == OURS + b"\n" + USUAL + b"\n"
    assert made["NODE_EXTRA_CA_CERTS"] == OURS + b"\n", "it adds to the client's own roots"


def test_roots_that_are_named_replace_the_usual_ones_where_they_did_before(tmp_path: Path) -> None:
    (tmp_path / "corp.pem").write_bytes(THEIRS)
    made = bundles(tmp_path, {"SSL_CERT_FILE": str(tmp_path / "corp.pem")})
    assert THEIRS in made["SSL_CERT_FILE"] and USUAL not in made["SSL_CERT_FILE"]
    assert THEIRS in made["CURL_CA_BUNDLE"], "curl reads SSL_CERT_FILE where CURL_CA_BUNDLE is not set"
    assert THEIRS not in made["REQUESTS_CA_BUNDLE"] and USUAL in made["REQUESTS_CA_BUNDLE"]
    assert all(OURS in text for text in made.values())


@pytest.mark.parametrize(
    ("variable", "named"),
    [
        ("NODE_EXTRA_CA_CERTS", "NODE_EXTRA_CA_CERTS"),
        ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        ("SSL_CERT_FILE", "SSL_CERT_DIR"),
        ("AWS_CA_BUNDLE", "AWS_CA_BUNDLE"),
    ],
)
def test_a_variable_goes_on_to_trust_what_its_clients_read(tmp_path: Path, variable: str, named: str) -> None:
    (tmp_path / "corp").mkdir()
    (tmp_path / "corp" / "a.0").write_bytes(THEIRS)
    assert THEIRS in bundles(tmp_path, {named: str(tmp_path / "corp")})[variable]


def test_nothing_but_certificates_is_taken_and_each_once(tmp_path: Path) -> None:
    (tmp_path / "both.pem").write_bytes(KEY + b"\n" + THEIRS + b"\nsubject=x\n" + THEIRS + b"\r\n" + OURS)
    made = bundles(tmp_path, {"SSL_CERT_FILE": str(tmp_path / "both.pem")})
    assert made["SSL_CERT_FILE"] == OURS + b"\n" + THEIRS + b"\n"


def test_what_cannot_be_read_is_said_once_and_the_usual_roots_are_trusted(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    environment = {"SSL_CERT_FILE": str(tmp_path / "gone"), "NODE_EXTRA_CA_CERTS": str(tmp_path / "empty")}
    problems: list[str] = []
    roots = trust.write_roots(tmp_path, environment, problems)
    assert sorted(text.partition(" ")[0] for text in problems) == ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]
    assert roots.read_bytes() == USUAL + b"\n"
    assert USUAL in bundles(tmp_path, environment)["SSL_CERT_FILE"]


def test_the_proxy_trusts_what_any_client_trusts_but_not_itself(tmp_path: Path) -> None:
    (tmp_path / "corp.pem").write_bytes(THEIRS)
    text = trust.write_roots(tmp_path, {"NODE_EXTRA_CA_CERTS": str(tmp_path / "corp.pem")}, []).read_bytes()
    assert text == USUAL + b"\n" + THEIRS + b"\n"


def test_the_usual_roots_are_there_and_do_not_hang_on_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    before = trust.usual()
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    assert before == trust.usual()
    assert before.count(b"BEGIN CERTIFICATE") > 50
