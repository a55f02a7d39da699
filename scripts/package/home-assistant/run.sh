#!/bin/sh
# Starts the hub of the add-on; the owner's settings are in the folder that Home Assistant shows as the add-on's configuration.
set -e
if [ -f /config/config.yaml ]; then export ATMO_CONFIG=/config/config.yaml; fi
mkdir -p -m 0700 "$ATMO_STATE_DIR"
exec /usr/lib/atmosphere-edge/bin/node --max-semi-space-size=2 /usr/lib/atmosphere-edge/dist/atmo.mjs serve
