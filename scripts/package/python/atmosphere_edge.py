"""Client of an atmosphere-edge hub, by the standard library of Python 3.9 and newer alone.

    from atmosphere_edge import Hub

    hub = Hub("https://hub.local:8081", token_file="~/hub.token", ca_file="~/hub-ca.crt")
    print([tool["id"] for tool in hub.tools(q="living room lamp")])
    hub.call("living_room_lamp_set_brightness", {"brightness": 40})
    print(hub.read("living-room-lamp/brightness"))
    for event in hub.events(types="device.*"):
        print(event.type, event.data)

A program keeps running while the hub restarts: what can be repeated without acting twice is repeated for `patience` seconds.
Calls have an idempotency key, so that they are repeated too; one that may have acted before the hub ended raises OutcomeUnknown.
The methods of Operations at the end are made from the OpenAPI document of the hub, one for each operation.
"""

import http.client
import json
import re
import ssl
import time
import urllib.parse
import uuid
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

VERSION = "@VERSION@"

# The longest answer, and the longest message of a stream, that is read: another program at the address must not fill the memory.
MAX_ANSWER_BYTES = 32 * 1024 * 1024
LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")


class HubError(Exception):
    """A refusal or failure that the hub told: its code, what to do, and whether the same request may work later."""

    def __init__(self, error: Dict[str, Any], status: int = 0) -> None:
        super().__init__("%s: %s" % (error.get("code"), error.get("message")))
        self.code: str = str(error.get("code"))
        self.message: str = str(error.get("message"))
        self.details: Dict[str, Any] = error.get("details") or {}
        self.retryable: bool = error.get("retryable") is True
        self.status = status


class WrongRequest(HubError):
    """The request has a mistake, or names what is not there."""


class Refused(HubError):
    """The token, a rule, a person or a limit does not allow it."""


class ApprovalRequired(Refused):
    """A person has to approve the call first; the same call with the same key runs afterwards."""

    @property
    def approval_id(self) -> str:
        return str(self.details.get("approval_id"))


class CallFailed(HubError):
    """The tool, the device or the service failed."""


class OutcomeUnknown(CallFailed):
    """It may or may not have taken effect: read the state before doing it again."""


class HubUnreachable(HubError):
    """No hub answers, or it is stopping."""


# The class of each error code, from the table of the hub.
CLASSES: Dict[str, type] = {
    # @CODES@
}


def error_of(body: Any, status: int) -> HubError:
    """Returns the error in an answer: every refusal of the hub has it in `error`, those of JSON-RPC in its `data`."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and isinstance(error.get("code"), int):
        error = error.get("data")
    if isinstance(error, str):
        # OAuth has a word there (RFC 6749, 5.2).
        return WrongRequest({"code": error, "message": body.get("error_description") or error}, status)
    if not isinstance(error, dict):
        error = {"code": "INTERNAL_ERROR", "message": "The answer with status %d is not one of a hub" % status, "details": {}}
    return CLASSES.get(str(error.get("code")), HubError)(error, status)


def too_long() -> HubError:
    """Returns the error for an answer or message that is longer than a hub's are."""
    return CallFailed({"code": "RESULT_INVALID", "message": "The answer has more than %d bytes, as no hub sends" % MAX_ANSWER_BYTES})


class Event(NamedTuple):
    """Something that happened. `type` is `gap` where the hub no longer knew what came after the last event."""

    type: str
    id: Optional[str]
    data: Dict[str, Any]


class Connection:
    """Sends requests to a hub, and repeats those that may be repeated while it restarts."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8081",
        token: Optional[str] = None,
        token_file: Optional[str] = None,
        ca_file: Optional[str] = None,
        timeout: float = 60.0,
        patience: float = 60.0,
    ) -> None:
        """`ca_file` is the hub's own authority, from /ca.crt; compare its fingerprint before you trust it."""
        self._url = urllib.parse.urlsplit(url)
        if self._url.scheme != "https" and not LOOPBACK.fullmatch(self._url.hostname or ""):
            message = "Nothing is sent to %s in clear, since others in the network could read it: take https:// and ca_file" % url
            raise WrongRequest({"code": "VALIDATION_ERROR", "message": message})
        self._token = token if token_file is None else Path(token_file).expanduser().read_text().strip()
        self._tls = None
        if self._url.scheme == "https":
            self._tls = ssl.create_default_context(cafile=None if ca_file is None else str(Path(ca_file).expanduser()))
        self._timeout = timeout
        self._patience = patience

    def request(
        self,
        method: str,
        path: str,
        query: Optional[Dict[str, Any]] = None,
        body: Any = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> Any:
        """Returns the answer: JSON as values, other media as bytes. Raises a HubError for each refusal and failure."""
        given = {name: value for name, value in (headers or {}).items() if value is not None}
        is_repeatable = method == "GET" or "Idempotency-Key" in given
        until = time.monotonic() + self._patience
        pause = 0.2
        while True:
            is_sent = False
            try:
                connection = self._open(self._timeout)
                try:
                    connection.connect()
                    is_sent = True
                    return self._answer(self._send(connection, method, path, query, body, given))
                finally:
                    connection.close()
            except HubUnreachable as error:
                if time.monotonic() + pause > until:
                    raise
                pause = max(pause, float(error.details.get("retry_after_seconds", 0)))
            except (OSError, http.client.HTTPException) as cause:
                if isinstance(cause, ssl.SSLCertVerificationError):
                    raise
                if is_sent and not is_repeatable:
                    raise OutcomeUnknown({"code": "OUTCOME_UNKNOWN", "message": "The hub ended before it answered: %s" % cause}) from cause
                if time.monotonic() + pause > until:
                    message = "No hub answers at %s: %s" % (self._url.geturl(), cause)
                    raise HubUnreachable({"code": "HUB_UNREACHABLE", "message": message, "retryable": True}) from cause
            time.sleep(pause)
            pause = min(pause * 2, 5.0)

    def _open(self, timeout: Optional[float]) -> http.client.HTTPConnection:
        host = self._url.hostname or "127.0.0.1"
        if self._tls is not None:
            return http.client.HTTPSConnection(host, self._url.port or 443, timeout=timeout, context=self._tls)
        return http.client.HTTPConnection(host, self._url.port or 80, timeout=timeout)

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        query: Optional[Dict[str, Any]],
        body: Any,
        headers: Dict[str, str],
    ) -> http.client.HTTPResponse:
        texts = [(name, _text(value)) for name, value in (query or {}).items() if value is not None]
        target = self._url.path.rstrip("/") + path + ("?" + urllib.parse.urlencode(texts) if texts else "")
        all_headers = {"User-Agent": "atmosphere-edge-python/" + VERSION, **headers}
        if self._token is not None:
            all_headers["Authorization"] = "Bearer " + self._token
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            all_headers["Content-Type"] = "application/json"
        connection.request(method, target, content, all_headers)
        return connection.getresponse()

    def _answer(self, response: http.client.HTTPResponse) -> Any:
        content = response.read(MAX_ANSWER_BYTES + 1)
        if len(content) > MAX_ANSWER_BYTES:
            raise too_long()
        is_json = "json" in (response.headers.get("Content-Type") or "")
        value = json.loads(content) if is_json and content else content
        is_error = response.status >= 400 or (response.status == 202 and isinstance(value, dict) and isinstance(value.get("error"), dict) and "job_id" not in value)
        if not is_error:
            return value
        error = error_of(value, response.status)
        wait = response.headers.get("Retry-After")
        if wait is not None and wait.isdigit():
            error.details = {**error.details, "retry_after_seconds": int(wait)}
        raise error

    def follow(
        self,
        path: str,
        query: Optional[Dict[str, Any]] = None,
        headers: Optional[Dict[str, str]] = None,
        last_event_id: Optional[str] = None,
    ) -> Iterator[Event]:
        """Yields the messages of a stream for ever. After a restart of the hub it goes on; a `gap` says that some may have been missed."""
        pause = 0.2
        while True:
            connection = self._open(45.0)
            try:
                asked = {**(headers or {}), "Accept": "text/event-stream"}
                if last_event_id is not None:
                    asked["Last-Event-ID"] = last_event_id
                response = self._send(connection, "GET", path, query, None, asked)
                if response.status != 200:
                    self._answer(response)
                pause = 0.2
                for event in _messages(response):
                    if event.id is not None:
                        last_event_id = event.id
                    yield event
            except HubError as error:
                if not error.retryable:
                    raise
            except (OSError, http.client.HTTPException) as cause:
                if isinstance(cause, ssl.SSLCertVerificationError):
                    raise
            finally:
                connection.close()
            time.sleep(pause)
            pause = min(pause * 2, 5.0)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quote(value: Any) -> str:
    return urllib.parse.quote(str(value), safe="")


def _messages(lines: Any) -> Iterator[Event]:
    """Parses Server-Sent Events (HTML Living Standard, 9.2)."""
    fields: Dict[str, str] = {}
    data: List[str] = []
    length = 0
    for raw in iter(lambda: lines.readline(MAX_ANSWER_BYTES + 1), b""):
        length += len(raw)
        if length > MAX_ANSWER_BYTES:
            raise too_long()
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if line == "":
            if data:
                yield Event(fields.get("event", "message"), fields.get("id"), json.loads("\n".join(data)))
            fields, data, length = {}, [], 0
            continue
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            data.append(value)
        elif name in ("event", "id"):
            fields[name] = value


class Operations(Connection):
    """One method for each operation of the hub's OpenAPI document."""

    # @OPERATIONS@


class Hub(Operations):
    """A hub: its tools, devices, readings, events, jobs and approvals."""

    def tools(self, **query: Any) -> List[Dict[str, Any]]:
        """Lists the tools that the token may call, best first with `q`, from all pages."""
        found: List[Dict[str, Any]] = []
        while True:
            page = self.request("GET", "/api/v1/tools", query)
            found.extend(page["tools"])
            if "next_cursor" not in page:
                return found
            query["cursor"] = page["next_cursor"]

    def call(
        self,
        tool: str,
        params: Optional[Dict[str, Any]] = None,
        idempotency_key: Optional[str] = None,
        timeout_ms: Optional[int] = None,
    ) -> Any:
        """Calls a tool and returns its result. For a call that waits for approval, pass the same key again once a person has approved it."""
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        if timeout_ms is not None:
            headers["X-Timeout-Ms"] = str(timeout_ms)
        answer = self.request("POST", "/api/v1/tools/%s/invoke" % _quote(tool), None, params or {}, headers)
        return answer["result"]

    def start(self, tool: str, params: Optional[Dict[str, Any]] = None, wait_for_approval: bool = False) -> str:
        """Starts a call as a job, which goes on without this program, and returns the id of the job."""
        query = {"async": True, "wait_for_approval": True if wait_for_approval else None}
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        return str(self.request("POST", "/api/v1/tools/%s/invoke" % _quote(tool), query, params or {}, headers)["job_id"])

    def wait(self, job_id: str, every: float = 0.5) -> Any:
        """Waits for a job and returns its result. Raises the error of a job that failed."""
        while True:
            job = self.request("GET", "/api/v1/jobs/" + _quote(job_id))
            if job["status"] == "succeeded":
                return job.get("result")
            if job["status"] in ("failed", "cancelled", "expired"):
                raise error_of({"error": job.get("error") or {"code": "CANCELLED", "message": "The job is " + job["status"]}}, 0)
            time.sleep(every)

    def read(self, sensor: str) -> Dict[str, Any]:
        """Returns the present reading of a sensor, such as `hall-lamp/brightness`, with its unit and age."""
        found = [reading for reading in self.request("GET", "/api/v1/sensors")["sensors"] if reading["id"] == sensor]
        if found:
            return found[0]
        raise WrongRequest({"code": "SENSOR_NOT_FOUND", "message": "There is no sensor %s" % sensor})

    def history(self, sensor: str, **query: Any) -> List[Tuple[str, Any]]:
        """Returns the readings of a sensor as pairs of time and value; `since`, `every` and `agg` as in GET /api/v1/sensors/{id}/readings."""
        answer = self.request("GET", "/api/v1/sensors/%s/readings" % _quote(sensor), query)
        return [(point["at"], point["value"]) for point in answer["points"]]

    def events(self, types: Optional[str] = None, last_event_id: Optional[str] = None) -> Iterator[Event]:
        """Yields what happens, as far as the token may see it: a comma list of types such as `device.*,sensor.reading`."""
        return self.follow("/api/v1/events", {"types": types}, None, last_event_id)

    def approvals(self) -> List[Dict[str, Any]]:
        """Lists the requests for approval that the token may see."""
        answer = self.request("GET", "/api/v1/approvals")
        return answer if isinstance(answer, list) else answer["approvals"]
