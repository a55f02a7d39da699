import { AtmoError } from '../core/errors.ts';
import type { BridgedThing } from './bridged-things.ts';

/**
 * Why a thing is suspended: it is gone, it controls more than when the owner chose it, or it became dangerous since. The ecosystems see it
 * as not reachable and may not use it until the owner chooses it again.
 */
export const SUSPENSIONS = ['gone', 'widened', 'dangerous'] as const;
export type Suspension = (typeof SUSPENSIONS)[number];

/** A thing that the owner has chosen. */
export interface BridgeEntry {
  /** Identifies the thing for ever in all ecosystems: 32 hex digits. */
  readonly id: string;
  /** Number of the bridge that presents the thing. */
  readonly bridge: number;
  /** Number of the thing's endpoint on its bridge; absent until the bridge has shown it. Ecosystems remember it. */
  readonly endpointNumber?: number;
  readonly suspended?: Suspension;
  readonly thing: BridgedThing;
}

/**
 * Returns the entry with its thing as it is now, `present`; undefined means that this hub does not have it. A thing that can do more than
 * the owner chose keeps what the owner chose and is suspended. Nothing but a new choice of the owner ends that.
 */
export function refreshedEntry(entry: BridgeEntry, present: BridgedThing | undefined): BridgeEntry {
  const { thing, suspended } = entry;
  if (thing.hub !== undefined || suspended) return entry;
  // An endpoint never becomes another device type. The owner takes such a thing away and chooses it anew.
  if (present && present.kind !== thing.kind) return entry;
  const reason = suspensionOf(thing, present);
  if (reason) return { ...entry, suspended: reason };
  // Whether it is dangerous stays as the owner knows it: a device of a scene that comes back must not look like a new danger.
  return present ? { ...entry, thing: { ...present, isDangerous: thing.isDangerous } } : entry;
}

function suspensionOf(chosen: BridgedThing, present: BridgedThing | undefined): Suspension | undefined {
  if (!present) return chosen.actor === 'scene' ? 'gone' : undefined;
  if (present.isDangerous && !chosen.isDangerous) return 'dangerous';
  return present.permissions.every((permission) => chosen.permissions.includes(permission)) ? undefined : 'widened';
}

/** Returns the error for a dangerous thing that the owner has not explicitly confirmed. */
export function confirmationRequired(thing: BridgedThing): AtmoError {
  const [danger, approvals] = dangerOf(thing);
  const message = `${thing.name} ${danger}. Whoever has one of the ecosystems can then ask for it, guests and voice assistants too. If you want that, add --dangerous (dangerous: true). ${approvals}`;
  return new AtmoError('CONFLICT', message);
}

/** Returns what is dangerous about a thing, and which of its commands need an approval. */
function dangerOf({ kind, actor }: BridgedThing): readonly [string, string] {
  if (kind === 'lock') return ['is a lock', 'Unlocking still needs an approval each time; locking needs none'];
  const approvals = 'What is dangerous about it still needs an approval each time';
  return [actor === 'scene' ? 'controls a lock, a valve or something else that is dangerous' : 'can be dangerous', approvals];
}
