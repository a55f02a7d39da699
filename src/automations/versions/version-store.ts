import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import type { Definition } from './definition.ts';

const SPACE = 'agents.versions';
/** Number of versions of an automation that are kept, the present one included. */
export const MAX_VERSIONS = 20;

/** When and by whom a version of an automation was made. */
export interface VersionFacts {
  /** 1 for the definition with which the automation was made. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly by: string;
  /** What the author wrote about it. */
  readonly note?: string;
}

/** A version of an automation with what it does. */
export type Version = VersionFacts & Definition;

/** An automation with the facts about its present version. */
interface Versioned extends Definition {
  readonly id: string;
  readonly createdAtMs: number;
  readonly parent?: string;
  /** Absent for the version with which it was made. */
  readonly version?: VersionFacts;
}

/**
 * Stores the former versions of automations. The present version is part of the agent's record, so that one write replaces it: after a crash the
 * automation has the old version or the new one.
 */
export class VersionStore {
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  /** Returns the versions of an automation, the newest first: the present one and those before it. */
  of(record: Versioned): readonly Version[] {
    const present = presentVersion(record);
    const isKept = ({ number }: Version) => number < present.number && number > present.number - MAX_VERSIONS;
    const former = SLOTS.flatMap((slot) => this.#former(record, slot) ?? []).filter(isKept);
    return [present, ...former.sort((a, b) => b.number - a.number)];
  }

  /** Stores the present version as a former one, before a new one replaces it: one write of one version. Throws STORAGE_FAILED. */
  keep(record: Versioned): void {
    const version = presentVersion(record);
    const slot = version.number % MAX_VERSIONS;
    this.#store.set(SPACE, keyOf(record.id, slot), copyJson({ createdAtMs: record.createdAtMs, version }));
  }

  forget(id: string): void {
    for (const slot of SLOTS) if (this.#store.get(SPACE, keyOf(id, slot)) !== undefined) this.#store.delete(SPACE, keyOf(id, slot));
  }

  /** Forgets the versions of all agents but these. */
  forgetOthers(ids: ReadonlySet<string>): void {
    for (const { key } of this.#store.entries(SPACE)) if (!ids.has(key.split(' ', 1)[0] ?? '')) this.#store.delete(SPACE, key);
  }

  /** Returns a version of this very agent: one that ended before may have had the same id. */
  #former({ id, createdAtMs }: Versioned, slot: number): Version | undefined {
    const stored = this.#store.get(SPACE, keyOf(id, slot));
    if (!isJsonObject(stored) || stored.createdAtMs !== createdAtMs || !isJsonObject(stored.version)) return undefined;
    // The cast is safe because only this class writes versions.
    return stored.version as JsonObject & Version;
  }
}

/** The places for versions of one automation. A new version goes to the place of the oldest. */
const SLOTS = Array.from({ length: MAX_VERSIONS }, (_, slot) => slot);

function keyOf(id: string, slot: number): string {
  return `${id} ${slot}`;
}

/** Returns the present version of an automation, with the values that its parameters have now. */
export function presentVersion({ config, permissions, version, createdAtMs, parent }: Omit<Versioned, 'id'>): Version {
  const first: VersionFacts = { number: 1, atMs: createdAtMs, by: parent ?? 'owner' };
  return { ...(version ?? first), config, permissions };
}

/** Returns the facts of the version after the present one. */
export function nextVersion(
  record: Pick<Versioned, 'version'>,
  { note, ...made }: Pick<VersionFacts, 'by' | 'atMs'> & { readonly note: string | undefined },
): VersionFacts {
  return { number: (record.version?.number ?? 1) + 1, ...made, ...(note !== undefined && { note }) };
}
