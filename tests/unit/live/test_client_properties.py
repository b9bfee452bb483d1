"""`--command-config`: the properties of Kafka's own tools reach librdkafka, and no secret leaves them."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from txnlog.cli import main
from txnlog.config import addresses
from txnlog.errors import ClusterError, OptionError
from txnlog.live.client_properties import client_settings, translated
from txnlog.live.cluster import LiveCluster
from txnlog.live.patience import MINIMUM_S, Patience, of_request

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="al ice" password="s=\\"e;c\\\\t";'
SECRET = "correct-horse-battery"


def properties(folder: Path, text: str) -> Path:
    file = folder / "client.properties"
    file.write_text(text, "utf-8")
    return file


def test_sasl_with_a_password_is_what_librdkafka_calls_it() -> None:
    java = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": PLAIN}
    assert translated(java) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "al ice",
        "sasl.password": 's="e;c\\t',
    }


def test_a_number_sign_is_part_of_a_password() -> None:
    assert (
        translated({"sasl.jaas.config": "x.PlainLoginModule required username=a password=#b;"})["sasl.password"] == "#b"
    )


def test_tokens_and_tickets_are_translated() -> None:
    token = {
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
        " clientId='a' clientSecret='b' scope='c' ;",
        "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
    }
    assert translated(token) == {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "a",
        "sasl.oauthbearer.client.secret": "b",
        "sasl.oauthbearer.scope": "c",
        "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
    }
    ticket = 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="p@R";'
    assert translated({"sasl.jaas.config": ticket}) == {
        "sasl.kerberos.keytab": "/k",
        "sasl.kerberos.principal": "p@R",
    }


def test_stores_in_pem_and_keystores_in_pkcs12_are_taken() -> None:
    assert translated(
        {
            "ssl.truststore.location": "/ca.pem",
            "ssl.truststore.type": "PEM",
            "ssl.keystore.location": "/me.p12",
            "ssl.keystore.type": "pkcs12",
            "ssl.keystore.password": "x",
            "ssl.endpoint.identification.algorithm": "",
            "ssl.protocol": "TLSv1.3",
        }
    ) == {
        "ssl.ca.location": "/ca.pem",
        "ssl.keystore.location": "/me.p12",
        "ssl.keystore.password": "x",
        "ssl.endpoint.identification.algorithm": "none",
    }
    pem = translated({"ssl.keystore.location": "/me.pem", "ssl.keystore.type": "PEM"})
    assert pem == {"ssl.certificate.location": "/me.pem", "ssl.key.location": "/me.pem"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ssl.truststore.location=/t.jks", "ssl.truststore.location is of type JKS: librdkafka does not read that"),
        ("ssl.truststore.location=/t.p12\nssl.truststore.type=PKCS12", "is of type PKCS12"),
        ("ssl.keystore.location=/k.jks", "ssl.keystore.location is of type JKS"),
        ("sasl.jaas.config=some.other.Module required a=b;", "some.other.Module is none of PlainLoginModule"),
        ('sasl.jaas.config=x.PlainLoginModule required password="open;', "a quotation mark is missing"),
        ("sasl.jaas.config=x.PlainLoginModule required user;", "is not written as"),
        ("sasl.jaas.config=x.PlainLoginModule required username=a;", "has no username and password"),
        ("a=\\u12", "it is no file of properties in UTF-8"),
    ],
)
def test_what_cannot_be_used_is_one_line_that_names_the_file(tmp_path: Path, text: str, message: str) -> None:
    file = properties(tmp_path, text)
    with pytest.raises(OptionError) as raised:
        client_settings(file)
    assert str(raised.value).startswith(f"{file}: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("key", ["ssl.truststore", "ssl.keystore"])
def test_a_file_of_certificates_that_is_missing_or_none_is_named(tmp_path: Path, key: str) -> None:
    certificates = tmp_path / "no.pem"
    file = properties(tmp_path, f"{key}.location={certificates}\n{key}.type=PEM\n")
    with pytest.raises(OptionError, match=rf"{certificates}: No such file or directory"):
        client_settings(file)
    certificates.write_text("nothing")
    with pytest.raises(OptionError, match=rf"{certificates}: there is no PEM in it"):
        client_settings(file)
    certificates.write_text("-----BEGIN CERTIFICATE-----")
    assert str(certificates) in client_settings(file).values()


def test_a_file_of_java_properties_is_read_as_java_does(tmp_path: Path) -> None:
    file = properties(tmp_path, "# comment\n! too\nclient.id : a\\\n  b\nsasl.mechanism=PLAIN\n")
    assert client_settings(file) == {"client.id": "ab", "sasl.mechanisms": "PLAIN"}
    assert client_settings(None) == {}


def test_each_translated_key_is_one_that_librdkafka_knows() -> None:
    java = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN, "ssl.provider": "x"}
    AdminClient({**translated(java)})
    with pytest.raises(OptionError, match=r'the client.s settings: No such configuration property: "paddding"'):
        LiveCluster("127.0.0.1:1", {"paddding": "1"}, 1).cluster_id()


@pytest.mark.parametrize(
    "text",
    [
        f"sasl.jaas.config=x.PlainLoginModule required username=a password='{SECRET}\n",
        f"security.protocol=SASL_SSL\nssl.key.password={SECRET}\nssl.keystore.key={SECRET}\n",
        f"{SECRET}=1\nssl.keystore.type=JKS\nssl.keystore.location=x\nssl.keystore.password={SECRET}\n",
        f"security.protocol={SECRET}\nsasl.password={SECRET}\n",
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=a\nsasl.password={SECRET}\n",
    ],
)
def test_no_secret_is_printed(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = properties(tmp_path, text)
    with pytest.raises((OptionError, ClusterError)) as raised:
        LiveCluster("127.0.0.1:1", client_settings(file), 0.2).cluster_id()
    assert SECRET not in str(raised.value)
    assert SECRET not in repr(LiveCluster("127.0.0.1:1", {"sasl.password": SECRET}, 1))
    assert SECRET not in "".join(capsys.readouterr())


def test_a_cluster_that_does_not_answer_is_one_line_and_exit_code_5(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ClusterError) as raised:
        LiveCluster("127.0.0.1:1", {}, 0.5).cluster_id()
    assert raised.value.exit_code == 5
    assert "127.0.0.1:1: no answer about the cluster's id within 0.5 s: " in str(raised.value)
    assert "Connection refused" in str(raised.value)
    with pytest.raises(ClusterError, match=r"^no\.such\.host\.invalid:9092: "):
        LiveCluster("no.such.host.invalid:9092", {}, 600)
    arguments = ["verify", "--tables", str(tmp_path), "--bootstrap-server", "127.0.0.1:1"]
    assert main([*arguments, "--timeout", "soon"]) == 2
    assert "--timeout: 'soon' is not a duration" in capsys.readouterr().err
    assert main(arguments) == 4
    assert "run `txnlog detect` first" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["", ",", "kafka-1", "kafka-1:", "a:b", "a:99999", "a:0", "a:1,b", "a b:1"])
@pytest.mark.parametrize("command", [["verify"], ["detect", "."]])
def test_an_address_that_is_none_is_said_at_once(
    command: list[str], address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--tables", str(tmp_path), "--bootstrap-server", address]) == 2
    assert capsys.readouterr().err.startswith(f"txnlog: --bootstrap-server: {address!r} is not HOST:PORT")


@pytest.mark.parametrize("address", ["kafka-1:9092", "a:1, b:2,", "SASL_SSL://a.b:9", "[::1]:9092", "::1:9092"])
def test_an_address_is_what_kafkas_own_tools_take(address: str) -> None:
    assert addresses(address).replace(",", "") == address.replace(", ", "").replace(",", "")


def test_what_is_left_for_all_answers_never_grows_and_one_of_them_does_not_use_up_all_of_it() -> None:
    whole = Patience(1000, is_whole=True)
    first, second = whole.left(), whole.left()
    assert 1000 >= first >= second > whole.left(0.5) * 1.5
    assert Patience(0, is_whole=True).left() == MINIMUM_S
    assert Patience(7).left(0.5) == 7
    assert of_request(100) < 100
    assert of_request(0.01) == MINIMUM_S
