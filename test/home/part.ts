import type { EndpointType } from '@matter/main';

/** One endpoint of a device: its matter.js type, the state it starts with and the endpoints below it. */
export interface Part {
  /** Unique within the device; tests may name the endpoint by it. */
  readonly id: string;
  readonly type: EndpointType;
  /** By cluster and attribute in raw Matter units. */
  readonly state?: PartState;
  readonly parts?: readonly Part[];
}

export type PartState = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What a kind of device is made of. */
export interface DeviceType {
  readonly parts: readonly Part[];
}

/** State of a part with the values of `over` put on top, attribute by attribute. */
export function overlay(state: PartState = {}, over: PartState = {}): PartState {
  const clusters = new Set([...Object.keys(state), ...Object.keys(over)]);
  return Object.fromEntries([...clusters].map((cluster) => [cluster, { ...state[cluster], ...over[cluster] }]));
}
