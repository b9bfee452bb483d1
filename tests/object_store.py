"""A server of the S3 protocol on 127.0.0.1, which checks signatures and rights, counts requests, and can fail some."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

from werkzeug.serving import WSGIRequestHandler, make_server

EVER = float("inf")
REGION = "eu-central-1"
BUCKET = "dumps"
# What the documentation asks for, and no more.
READER = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": f"arn:aws:s3:::{BUCKET}"},
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{BUCKET}/*"},
    ],
}
Environ = dict[str, Any]


class Request(NamedTuple):
    """What was asked for: the method, the key (empty for a listing), the range, and the status of the answer."""

    method: str
    key: str
    range: str | None
    status: str


class _Silent(WSGIRequestHandler):
    def log(self, *_: Any) -> None:
        pass


class Store:
    """The server: `requests` has what was asked for; `failing` says which requests to answer with `status`."""

    def __init__(self) -> None:
        # It takes a second to import, which tests without a store need not pay.
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        self.requests: list[Request] = []
        self.failing: Callable[[str, str], bool] = lambda method, key: False
        self.status = ""
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._lock = Lock()
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=_Silent)
        self._thread = Thread(target=self._server.serve_forever)
        self.port = self._server.server_port

    def __enter__(self) -> Store:
        self._thread.start()
        client = self._client("s3")
        client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        iam = self._client("iam")
        iam.create_user(UserName="reader")
        iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=json.dumps(READER))
        key = iam.create_access_key(UserName="reader")["AccessKey"]
        self.credentials = {
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def put(self, key: str, content: bytes) -> None:
        with self._checking_after(EVER):
            self._client("s3").put_object(Bucket=BUCKET, Key=key, Body=content)

    def upload(self, folder: Path, prefix: str) -> int:
        """Put all files below a folder there; how many they are."""
        files = [path for path in folder.rglob("*") if path.is_file()]
        for path in files:
            self.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())
        return len(files)

    def uri(self, key: str, scheme: str = "s3a", bucket: str = BUCKET) -> str:
        return f"{scheme}://{bucket}/{key}?endpoint_override=127.0.0.1:{self.port}&scheme=http&region={REGION}"

    def asked(self, method: str, prefix: str = "") -> list[Request]:
        return [each for each in self.requests if each.method == method and each.key.startswith(prefix)]

    def listings(self) -> list[Request]:
        return [each for each in self.requests if each.method == "GET" and not each.key]

    @contextmanager
    def failed(self, failing: Callable[[str, str], bool], status: str = "503 Slow Down") -> Iterator[None]:
        """Meanwhile requests (method and key) that `failing` says yes to are answered with `status`."""
        self.failing, self.status = failing, status
        yield
        self.failing = lambda method, key: False

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Meanwhile only signed requests with the right to what they ask for are answered."""
        with self._checking_after(0):
            yield

    @contextmanager
    def _checking_after(self, requests: float) -> Iterator[None]:
        from moto import settings

        before, settings.INITIAL_NO_AUTH_ACTION_COUNT = settings.INITIAL_NO_AUTH_ACTION_COUNT, requests
        yield
        settings.INITIAL_NO_AUTH_ACTION_COUNT = before

    def _client(self, service: str) -> Any:
        import boto3

        return boto3.client(
            service,
            region_name=REGION,
            endpoint_url=f"http://127.0.0.1:{self.port}",
            aws_access_key_id="maker",
            aws_secret_access_key="of the store",
        )

    def _answer(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        # WSGI hands over bytes as if they were Latin-1.
        path = environ["PATH_INFO"].encode("latin-1").decode().partition(f"/{BUCKET}/")[2]

        def started(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            with self._lock:
                self.requests.append(Request(method, path, environ.get("HTTP_RANGE"), status[:3]))
            return start_response(status, headers, *rest)

        if self.failing(method, path):
            started(self.status, [("Content-Length", "0")])
            return []
        answer: Iterable[bytes] = self._moto(environ, started)
        return answer
