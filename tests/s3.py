"""A real S3 server on this machine (moto's), which a test can take away and let fail."""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterable
from typing import Any

import fsspec
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from typing_extensions import Self
from werkzeug.serving import make_server

from nbtrain.run.outside.store import Store


class S3:
    """The server, with one bucket; it ends at the end of the `with` block.

    Attributes:
        address: The address for `mirror=`.
        environment: What a process must have in its environment, and the address.
        refuses: Tells by method and path if a request fails; the body of such a request is read.
    """

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.refuses: Callable[[str, str], bool] = lambda _method, _path: False
        self._mirrors: dict[str, Store] = {}
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        # The server keeps its buckets in this process.
        self._bucket = f"bucket-{secrets.token_hex(4)}"
        self.address = f"s3://{self._bucket}/runs"
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._server.server_port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "MIRROR": self.address,
        }

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if self.refuses(environ["REQUEST_METHOD"], environ["PATH_INFO"]):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("503 Service Unavailable", [("Content-Length", "0")])
            return [b""]
        return self._app(environ, start_response)  # type: ignore[no-any-return]

    def files(self, name: str) -> dict[str, int]:
        """The sizes of the files of a run's mirror, by path."""
        if name not in self._mirrors:
            self._mirrors[name] = Store(self.address, name)  # its session takes long to make
        return self._mirrors[name].sizes()

    def __enter__(self) -> Self:
        self._before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        self._thread.start()
        fsspec.filesystem("s3", skip_instance_cache=True).mkdir(self._bucket)
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for name, value in self._before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
