"""`client.properties` of Kafka's own tools (`--command-config`) as the settings of librdkafka.

What is secret in it goes to the client and nowhere else: errors name a key and never its value.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from txnlog.errors import OptionError, SetupError

Settings = dict[str, str]

PEM, PKCS12 = "PEM", "PKCS12"
# Java's default type of a store (`SslConfigs.DEFAULT_SSL_TRUSTSTORE_TYPE`).
JAVAS_DEFAULT = "JKS"
AS_PEM = (
    "librdkafka does not read that: convert it (keytool -importkeystore -deststoretype PKCS12, then openssl pkcs12,"
    " with -nokeys for a truststore), and set its type to PEM"
)
_RENAMED = {
    "sasl.mechanism": "sasl.mechanisms",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
# Read below, together with others.
_READ = frozenset(
    {
        "bootstrap.servers",
        "sasl.jaas.config",
        "ssl.endpoint.identification.algorithm",
        "ssl.truststore.location",
        "ssl.truststore.type",
        "ssl.truststore.password",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.keystore.password",
    }
)
# Settings of librdkafka that name a file.
_FILES = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.keystore.location")
# Settings of the Java client only; this client does not need them.
_JAVAS_OWN = frozenset(
    {
        "default.api.timeout.ms",
        "request.timeout.ms",
        "retries",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "ssl.cipher.suites",
        "ssl.enabled.protocols",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
)


def client_settings(path: Path | None) -> Settings:
    """The settings that a file asks for; none without a file. `OptionError` names the file and the key."""
    if path is None:
        return {}
    try:
        settings = translated(_read(path))
        _check_files(settings)
        return settings
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from error


def _check_files(settings: Settings) -> None:
    """Librdkafka would say that something is wrong with some certificate, and not which file."""
    for location in filter(None, map(settings.get, _FILES)):
        try:
            is_pem = Path(location).is_dir() or b"-----BEGIN" in Path(location).read_bytes()
        except OSError as error:
            raise OptionError(f"{location}: {error.strerror}") from error
        if not is_pem and location != settings.get("ssl.keystore.location"):
            raise OptionError(f"{location}: there is no PEM in it")


def _read(path: Path) -> Settings:
    try:
        import javaproperties
    except ImportError as error:
        raise SetupError("the package javaproperties is missing: pip install 'txnlog[kafka]'") from error
    try:
        return dict(javaproperties.loads(path.read_text("utf-8")))
    except OSError as error:
        raise OptionError(str(error.strerror)) from error
    except (UnicodeDecodeError, javaproperties.InvalidUEscapeError) as error:
        # The error itself would show a part of the file.
        raise OptionError("it is no file of properties in UTF-8") from error


def translated(java: Mapping[str, str]) -> Settings:
    """Keys of the Java client as keys of librdkafka; keys that only librdkafka has stay as they are."""
    kept = {_RENAMED.get(key, key): value for key, value in java.items() if key not in _READ and key not in _JAVAS_OWN}
    return kept | _truststore(java) | _keystore(java) | _host_names(java) | _login(java)


def _truststore(java: Mapping[str, str]) -> Settings:
    location = java.get("ssl.truststore.location")
    if location is None:
        return {}
    kind = java.get("ssl.truststore.type", JAVAS_DEFAULT).upper()
    if kind != PEM:
        raise OptionError(f"ssl.truststore.location is of type {kind}: {AS_PEM}")
    return {"ssl.ca.location": location}


def _keystore(java: Mapping[str, str]) -> Settings:
    location = java.get("ssl.keystore.location")
    if location is None:
        return {}
    kind = java.get("ssl.keystore.type", JAVAS_DEFAULT).upper()
    if kind == PEM:
        # One file has both, as KIP-651 asks for.
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    if kind == PKCS12:
        return {"ssl.keystore.location": location, "ssl.keystore.password": java.get("ssl.keystore.password", "")}
    raise OptionError(f"ssl.keystore.location is of type {kind}: {AS_PEM}, or to PKCS12")


def _host_names(java: Mapping[str, str]) -> Settings:
    algorithm = java.get("ssl.endpoint.identification.algorithm")
    return {} if algorithm is None else {"ssl.endpoint.identification.algorithm": algorithm.lower() or "none"}


def _login(java: Mapping[str, str]) -> Settings:
    """The options of a login module: `org.….PlainLoginModule required username="a" password="b";`."""
    text = java.get("sasl.jaas.config")
    if text is None:
        return {}
    module, options = _jaas(text)
    for name, settings in _MODULES.items():
        if module.endswith(f".{name}"):
            return settings(options)
    raise OptionError(f"sasl.jaas.config: {module} is none of {', '.join(_MODULES)}")


def _jaas(text: str) -> tuple[str, Settings]:
    lexer = shlex.shlex(text.strip().removesuffix(";"), posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise OptionError("sasl.jaas.config: a quotation mark is missing") from error
    if len(words) < 2 or not all("=" in word for word in words[2:]):
        raise OptionError('sasl.jaas.config is not written as `MODULE required key="value" …;`')
    return words[0], dict(word.split("=", 1) for word in words[2:])


def _password(options: Settings) -> Settings:
    if not {"username", "password"} <= options.keys():
        raise OptionError("sasl.jaas.config has no username and password")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _token(options: Settings) -> Settings:
    names = {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    }
    return {"sasl.oauthbearer.method": "oidc"} | {names[key]: options[key] for key in names if key in options}


def _ticket(options: Settings) -> Settings:
    names = {
        "keyTab": "sasl.kerberos.keytab",
        "principal": "sasl.kerberos.principal",
        "serviceName": "sasl.kerberos.service.name",
    }
    return {names[key]: options[key] for key in names if key in options}


_MODULES: dict[str, Callable[[Settings], Settings]] = {
    "PlainLoginModule": _password,
    "ScramLoginModule": _password,
    "OAuthBearerLoginModule": _token,
    "Krb5LoginModule": _ticket,
}
