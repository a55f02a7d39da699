/** A home's announcement as DeviceToolSync names its tools: the devices of a flat, of standard types, without hardware. */
import type { KeyObject } from 'node:crypto';
import { type HubState, inCanonicalOrder, stateDigest } from '../../src/codec/messages/announced-state.ts';
import { paginate, signAnnouncement } from '../../src/codec/messages/announcement.ts';
import { generatePrivateKey, hubIdOf, rawPublicKey } from '../../src/codec/public-key.ts';
import type { DeviceDescription } from '../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../src/core/devices/device-names.ts';
import { slug } from '../../src/core/ids.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { offeredDefinition } from '../../src/mesh/gossip/definition-store.ts';
import { toPublicDefinition } from '../../src/tools/definition/public-definition.ts';
import { describeDeviceType } from '../../test/fixtures/describe-standard.ts';
import { ToolHarness } from '../../test/profiles/tool-harness.ts';

const ROOMS = ['Living room', 'Bedroom', 'Hall', 'Kitchen', 'Study', 'Garden', 'Bath', 'Attic'];
const DEVICES = [
  ['lamp', 'DimmableLight'],
  ['light', 'OnOffLight'],
  ['ceiling', 'ColorTemperatureLight'],
  ['plug', 'OnOffPlugInUnit'],
  ['blind', 'WindowCovering'],
  ['thermostat', 'Thermostat'],
  ['door', 'DoorLock'],
  ['fan', 'Fan'],
] as const;

/** A hub with a house full of devices. */
export interface AnnouncedHome {
  readonly key: KeyObject;
  readonly state: HubState;
  /** Public definitions by the hash in the announcement. */
  readonly definitions: ReadonlyMap<string, JsonObject>;
}

/** Tools of a device of these types on average, or fewer. */
const TOOLS_A_DEVICE = 4;

/** A home with so many tools. */
export async function homeWithTools(count: number): Promise<AnnouncedHome> {
  const devices = descriptions(Math.ceil(count / TOOLS_A_DEVICE));
  const harness = await new ToolHarness(...devices).start();
  const definitions = new Map<string, JsonObject>();
  const generated = harness.registry.list({ limit: 1_000 }).tools.filter(({ definition }) => definition.metadata.device !== undefined);
  const tools = devices
    .flatMap(({ device }) => generated.filter(({ definition }) => definition.metadata.device === device.id))
    .slice(0, count)
    .map((tool) => {
      const { hash } = offeredDefinition(tool);
      definitions.set(hash, toPublicDefinition(tool.definition));
      return { id: tool.id, hash, capability: 0 };
    });
  const state: HubState = {
    name: 'Living room hub',
    version: '0.1.0',
    addresses: ['192.168.1.20:8082'],
    links: [],
    capabilities: [{ type: 'matter_bridge', description: `Matter/Thread bridge with ${devices.length} devices` }],
    tools: inCanonicalOrder(tools),
    devices: null,
  };
  return { key: generatePrivateKey(), state, definitions };
}

/** The full announcement under its signature, with its lists inline as long as they may be. */
export function announce({ key, state }: AnnouncedHome, certificate: readonly Uint8Array[]): Uint8Array {
  return signAnnouncement(
    {
      kind: 'full',
      hubId: hubIdOf(rawPublicKey(key)),
      epoch: 12,
      sequence: 345,
      timeMs: Date.UTC(2026, 5, 1),
      ttlSeconds: 300,
      digest: stateDigest(state),
      certificate,
      state: paginate(state).announced,
    },
    key,
  );
}

/** Each next one is of another type and in another room. */
function descriptions(count: number): readonly DeviceDescription[] {
  return Array.from({ length: count }, (_, index) => {
    const round = Math.floor(index / DEVICES.length);
    const [kind, type] = DEVICES[index % DEVICES.length] ?? DEVICES[0];
    const name = `${ROOMS[(index + round) % ROOMS.length]} ${kind}`;
    return describeDeviceType(type, { device: { id: parseDeviceId(slug(name, '-')), name } });
  });
}
