import { type DnsRecord, recordKey } from './dns-message.ts';

type CacheChange = 'added' | 'refreshed' | 'withdrawn' | 'ignored';

interface Entry {
  readonly record: DnsRecord;
  readonly receivedMs: number;
  expiresMs: number;
  /** How many of the refresh times (REFRESH_AT) have passed for this record. */
  refreshes: number;
}

const GOODBYE_MS = 1_000;
const REFRESH_AT = [0.8, 0.85, 0.9, 0.95]; // RFC 6762 5.2
const MAX_RECORDS = 4_096;
/** Maximum number of records of one name. It does not apply to PTR records, which `InstanceOwners` limits. */
const MAX_RECORDS_OF_A_NAME = 32;
const MAX_TTL_SECONDS = 86_400;

/** Cache of the valid DNS records of one link (RFC 6762 10). Times are those of the monotonic clock. */
export class RecordCache {
  readonly #entries = new Map<string, Map<string, Entry>>();
  #size = 0;

  add(record: DnsRecord, nowMs: number): CacheChange {
    const set = this.#entries.get(record.name.toLowerCase());
    const key = recordKey(record);
    const known = set?.get(key);
    if (record.ttlSeconds === 0) return known === undefined ? 'ignored' : this.#withdraw(known, nowMs);
    if (known === undefined && this.#isFull(record, set?.size ?? 0)) return 'ignored';
    if (record.isUnique) this.#flush(record, nowMs);
    const expiresMs = nowMs + Math.min(record.ttlSeconds, MAX_TTL_SECONDS) * 1_000;
    const entries = set ?? new Map<string, Entry>();
    entries.set(key, { record, receivedMs: nowMs, expiresMs, refreshes: 0 });
    this.#entries.set(record.name.toLowerCase(), entries);
    if (known !== undefined) return 'refreshed';
    this.#size += 1;
    return 'added';
  }

  of<Type extends DnsRecord['type']>(name: string, type: Type): readonly Extract<DnsRecord, { type: Type }>[] {
    const records = [...(this.#entries.get(name.toLowerCase())?.values() ?? [])].map((entry) => entry.record);
    return records.filter((record): record is Extract<DnsRecord, { type: Type }> => record.type === type);
  }

  /** Returns the records of a name that have more than half of their lifetime left, with the remaining time as `ttlSeconds`. */
  known(name: string, nowMs: number): readonly DnsRecord[] {
    return [...(this.#entries.get(name.toLowerCase())?.values() ?? [])].flatMap(({ record, expiresMs }) => {
      const ttlSeconds = Math.floor((expiresMs - nowMs) / 1_000);
      return ttlSeconds > record.ttlSeconds / 2 ? [{ ...record, ttlSeconds }] : [];
    });
  }

  /** Returns records that must be queried again because they expire soon. */
  due(nowMs: number): readonly DnsRecord[] {
    const entries = [...this.#entries.values()].flatMap((set) => [...set.values()]);
    return entries.flatMap((entry) => {
      const passed = REFRESH_AT.filter((part) => nowMs >= entry.receivedMs + (entry.expiresMs - entry.receivedMs) * part).length;
      if (passed <= entry.refreshes || nowMs >= entry.expiresMs - GOODBYE_MS) return [];
      entry.refreshes = passed;
      return [entry.record];
    });
  }

  /** Deletes and returns expired records. */
  expire(nowMs: number): readonly DnsRecord[] {
    const expired: DnsRecord[] = [];
    for (const [name, set] of this.#entries) {
      for (const [key, { record, expiresMs }] of set) {
        if (expiresMs > nowMs) continue;
        set.delete(key);
        expired.push(record);
      }
      if (set.size === 0) this.#entries.delete(name);
    }
    this.#size -= expired.length;
    return expired;
  }

  #isFull({ type }: DnsRecord, ofName: number): boolean {
    return this.#size >= MAX_RECORDS || (type !== 'PTR' && ofName >= MAX_RECORDS_OF_A_NAME);
  }

  #withdraw(entry: Entry, nowMs: number): CacheChange {
    entry.expiresMs = Math.min(entry.expiresMs, nowMs + GOODBYE_MS);
    return 'withdrawn';
  }

  // Withdraws older records of this name and type. Their owner sends all valid ones within a second (RFC 6762 10.2).
  #flush(record: DnsRecord, nowMs: number): void {
    for (const entry of this.#entries.get(record.name.toLowerCase())?.values() ?? []) {
      if (entry.record.type === record.type && nowMs - entry.receivedMs > GOODBYE_MS) this.#withdraw(entry, nowMs);
    }
  }
}
