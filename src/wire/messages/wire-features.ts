import type { AnnouncedCapability } from './announced-state.ts';

/**
 * What a hub reads beyond what every hub reads. It announces each as a capability whose type begins with `wire:`: the first hubs know
 * nothing of them and pass them by, and nobody sends what the other end has not announced.
 */
export const WIRE_FEATURES = ['wire:bytes'] as const;
/** `wire:bytes`: JSON of calls with byte strings in the place of base64. */
export type WireFeature = (typeof WIRE_FEATURES)[number];

const BEGINNING = 'wire:';

/** True for a capability that is none of the house. */
export function isWireFeature({ type }: AnnouncedCapability): boolean {
  return type.startsWith(BEGINNING);
}
