"""A program of somebody else: follows events, and does what the lines on standard input say, each a name and its arguments in JSON."""

import json
import os
import sys
import threading

sys.path.insert(0, sys.argv[2])
from atmosphere_edge import Hub, HubError  # noqa: E402

hub = Hub(sys.argv[1], token=os.environ["ATMO_TOKEN"], patience=60)


def say(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def follow():
    for event in hub.events(types="agi.tool.*"):
        say({"event": event.type, "id": event.id})


threading.Thread(target=follow, daemon=True).start()
for line in sys.stdin:
    name, args = json.loads(line)
    try:
        say({"result": getattr(hub, name)(*args)})
    except HubError as error:
        say({"error": error.code, "class": type(error).__name__, "retryable": error.retryable, "details": error.details})
