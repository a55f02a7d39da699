import type { AttributeDescription, ClusterDescription, CommandDescription, Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import type { JsonObject, JsonSchema } from '../../../src/core/json.ts';
import { BEHAVIOURS } from '../../fixtures/device-behaviours.ts';

/** What a lamp shows: raw Matter values, by `Cluster/Attribute`. */
export type LampState = Readonly<Record<string, boolean | number>>;

/** A command that a hub sends to a lamp: `Cluster.Command` with its fields in raw Matter values. */
export interface LampCommand {
  readonly device: DeviceId;
  readonly name: string;
  readonly fields: JsonObject;
}

/** A change of a lamp, at milliseconds of the world: by a command, or by a hand at the lamp. */
export interface LampChange {
  readonly atMs: number;
  readonly by: string;
  readonly fields: JsonObject;
  readonly before: LampState;
  readonly after: LampState;
}

const NO_FIELDS: JsonSchema = { type: 'object', properties: {}, additionalProperties: false };
const LEVEL_OPTIONS: JsonSchema = {
  type: 'object',
  properties: { executeIfOff: { type: 'boolean' }, coupleColorTempToLevel: { type: 'boolean' } },
  additionalProperties: false,
};
const LEVEL: JsonSchema = { type: 'integer', minimum: 0, maximum: 254 };
const MOVE_TO_LEVEL: JsonSchema = {
  type: 'object',
  properties: {
    level: LEVEL,
    transitionTime: { type: ['integer', 'null'], minimum: 0, maximum: 65534, 'x-unit': 's', 'x-scale': 0.1 },
    optionsMask: LEVEL_OPTIONS,
    optionsOverride: LEVEL_OPTIONS,
  },
  required: ['level', 'transitionTime', 'optionsMask', 'optionsOverride'],
  additionalProperties: false,
};

const attribute = (id: number, name: string, schema: JsonSchema): AttributeDescription => ({
  id,
  name,
  writable: false,
  readPrivilege: 'view',
  changesOmitted: false,
  fixed: false,
  schema,
});
const command = (id: number, name: string, parameters: JsonSchema): CommandDescription => ({
  id,
  name,
  timed: false,
  privilege: 'operate',
  parameters,
});

/** The clusters of a lamp, as far as its tools need them. A test compares each element with the Matter model, which would take seconds to load. */
export const LAMP_CLUSTERS: readonly ClusterDescription[] = [
  {
    id: 6,
    name: 'OnOff',
    revision: 6,
    features: ['LT'],
    attributes: [attribute(0, 'OnOff', { type: 'boolean' })],
    commands: [command(0, 'Off', NO_FIELDS), command(1, 'On', NO_FIELDS), command(2, 'Toggle', NO_FIELDS)],
    events: [],
  },
  {
    id: 8,
    name: 'LevelControl',
    revision: 7,
    features: ['OO', 'LT'],
    attributes: [attribute(0, 'CurrentLevel', { ...LEVEL, type: ['integer', 'null'] })],
    commands: [command(4, 'MoveToLevelWithOnOff', MOVE_TO_LEVEL)],
    events: [],
  },
];

/** A dimmable lamp, which outlives the hub that controls it. */
export class SimulatedLamp {
  readonly device: Device;
  readonly changes: LampChange[] = [];
  isPowered = true;
  /** Called after each change, and when the power comes back. */
  onChange: (() => void) | undefined;
  #state: LampState = { 'OnOff/OnOff': false, 'LevelControl/CurrentLevel': 127 };
  #messageId = 0;
  readonly #now: () => number;

  constructor(name: string, now: () => number) {
    this.#now = now;
    this.device = {
      id: parseDeviceId(name),
      name,
      kind: 'node',
      nodeId: '1',
      vendor: { id: 0xfff1, name: 'Test vendor' },
      product: { id: 0x8000, name: 'Lamp' },
      deviceTypes: ['DimmableLight'],
      reachability: 'reachable',
      lastSeenMs: 0,
      isSleepy: false,
    };
  }

  get state(): LampState {
    return this.#state;
  }

  /** Returns the number of the next message that the lamp sends. */
  nextMessageId(): number {
    this.#messageId += 1;
    return this.#messageId;
  }

  /** Does what a command says. */
  obey(cluster: string, name: string, fields: JsonObject): void {
    const own = Object.entries(this.#state).filter(([key]) => key.startsWith(`${cluster}/`));
    const attributes = Object.fromEntries(own.map(([key, value]) => [key.slice(cluster.length + 1), value]));
    const effect = BEHAVIOURS[`${cluster}.${name}`]?.(fields, attributes) ?? {};
    const changed = Object.entries(effect).map(([key, value]) => [`${cluster}/${key}`, value] as const);
    // A lamp with the feature OnOff is switched by this command too (Application Clusters §1.6.4.1.2).
    const coupled = name === 'MoveToLevelWithOnOff' ? [['OnOff/OnOff', Number(fields.level) > 0] as const] : [];
    this.#become(Object.fromEntries([...changed, ...coupled]) as LampState, { by: `${cluster}.${name}`, fields });
  }

  /** Somebody turns the lamp by hand. */
  turn(state: LampState): void {
    this.#become(state, { by: 'hand', fields: {} });
  }

  /** Cuts the power of the lamp, or gives it back. It keeps its state. */
  power(isPowered: boolean): void {
    this.isPowered = isPowered;
    if (isPowered) this.onChange?.();
  }

  #become(change: LampState, cause: Pick<LampChange, 'by' | 'fields'>): void {
    const before = this.#state;
    this.#state = { ...before, ...change };
    this.changes.push({ atMs: this.#now(), ...cause, before, after: this.#state });
    this.onChange?.();
  }
}
