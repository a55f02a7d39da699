import type { AnnouncedCapability } from './announced-state.ts';

/**
 * What a hub reads beyond what every hub reads. It announces each as a capability whose type begins with `wire:`: the first hubs know
 * nothing of them and pass them by, and nobody sends what the other end has not announced.
 */
export const WIRE_FEATURES = ['wire:bytes'] as const;
/** `wire:bytes`: JSON of calls with byte strings in the place of base64. */
export type WireFeature = (typeof WIRE_FEATURES)[number];

/** Announced as those are, by a hub that has no network at the moment. A hub that does not say so has one, as far as anybody knows. */
export const OFFLINE = 'wire:offline';

const BEGINNING = 'wire:';

/** True for a capability that is none of the house. */
export function isWireFeature({ type }: AnnouncedCapability): boolean {
  return type.startsWith(BEGINNING);
}
