import { visibleLine } from '../../../core/foreign-text.ts';
import type { HubId } from '../../../core/ids.ts';
import type { PeerDevice, PeerState } from '../../../core/mesh/mesh-view.ts';
import type { AnnouncedState, HubState } from '../../../wire/messages/announced-state.ts';
import { isWireFeature } from '../../../wire/messages/wire-features.ts';
import type { HubRecord } from './hub-record.ts';
import type { KnownHub } from './known-hub.ts';

const MAX_NAME = 64;
const MAX_DESCRIPTION = 256;
const HUB_ID = /^\s*hub-[0-9a-f]{16}\s*$/i;
const NOTHING: readonly never[] = [];

type Head = Pick<KnownHub, 'name' | 'version' | 'addresses' | 'links' | 'capabilities' | 'features'>;

/** States are cleaned once, not with each heartbeat. */
const heads = new WeakMap<HubState | AnnouncedState, Head>();
const devicesOf = new WeakMap<HubState, readonly PeerDevice[]>();

/**
 * A record as others see it: text that people read has no control characters. What needs no page is told as soon as it is
 * known; tools and devices of the state before stay until theirs are here.
 */
export function viewOf(record: HubRecord, state: PeerState): KnownHub {
  const newest = record.isWaitingForPages() ? record.announced : (record.state ?? record.announced);
  return {
    ...remembered(heads, newest, (state) => headOf(state, record.id)),
    id: record.id,
    state,
    epoch: record.heard.epoch,
    lastSeenMs: record.heardAt.wallMs,
    tools: record.state?.tools ?? NOTHING,
    devices: record.state ? remembered(devicesOf, record.state, cleanDevices) : NOTHING,
    ...(record.isWaitingForPages() && { lacksPages: true }),
    ...(record.state?.devices === null && { hidesDevices: true }),
  };
}

function headOf({ name, version, addresses, links, capabilities }: HubState | AnnouncedState, id: HubId): Head {
  return {
    // A call that names a hub by its id must not mean one that calls itself so.
    name: HUB_ID.test(visibleLine(name, MAX_NAME)) ? id : visibleLine(name, MAX_NAME),
    version: visibleLine(version, MAX_NAME),
    addresses: addresses.map((address) => visibleLine(address, MAX_DESCRIPTION)),
    links,
    capabilities: capabilities
      .filter((capability) => !isWireFeature(capability))
      .map((capability) => ({
        ...capability,
        type: visibleLine(capability.type, MAX_NAME),
        description: visibleLine(capability.description, MAX_DESCRIPTION),
      })),
    features: capabilities.filter(isWireFeature).map(({ type }) => type),
  };
}

function cleanDevices({ devices }: HubState): readonly PeerDevice[] {
  return (devices ?? NOTHING).map((device) => ({
    ...device,
    name: visibleLine(device.name, MAX_NAME),
    type: visibleLine(device.type, MAX_NAME),
  }));
}

function remembered<Key extends object, Value>(known: WeakMap<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  const before = known.get(key);
  if (before !== undefined) return before;
  const made = make(key);
  known.set(key, made);
  return made;
}
