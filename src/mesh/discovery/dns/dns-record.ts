interface RecordOf<Type extends string, Data> {
  /** Domain name without the dot at the end. */
  readonly name: string;
  readonly type: Type;
  /** Seconds that it may be believed; 0 takes it back. */
  readonly ttlSeconds: number;
  /** One host owns the whole set of records of this name and type: the cache-flush bit (RFC 6762 10.2). */
  readonly isUnique: boolean;
  readonly data: Data;
}

/** A name that stands for another: here a type of services and one of its instances. */
export type PtrRecord = RecordOf<'PTR', string>;
/** Where a service listens. */
export type SrvRecord = RecordOf<'SRV', { readonly target: string; readonly port: number }>;
/** What a service tells of itself, as `key=value`. */
export type TxtRecord = RecordOf<'TXT', readonly string[]>;
/** An address of a host. */
export type AddressRecord = RecordOf<'A' | 'AAAA', string>;
/** The types of records that a name has; it has no others (RFC 6762 6.1). */
export type NsecRecord = RecordOf<'NSEC', readonly string[]>;
/** The records of which service discovery is made (RFC 6763). */
export type DnsRecord = PtrRecord | SrvRecord | TxtRecord | AddressRecord | NsecRecord;

/** What was asked. */
export interface DnsQuestion {
  readonly name: string;
  /** `ANY` for all types. */
  readonly type: string;
  /** The asker would rather have the answer for itself: the QU bit (RFC 6762 5.4). */
  readonly wantsUnicast: boolean;
}

/** Names of DNS are the same in capitals and small letters. */
export function isSameName(one: string, other: string): boolean {
  return one.length === other.length && one.toLowerCase() === other.toLowerCase();
}

/** True for names that can be written again as they were read: the library turns bytes that are no UTF-8 into longer ones. */
export function isPlainName(name: string): boolean {
  return !name.includes('\ufffd') && name.split('.').every((label) => label !== '' && Buffer.byteLength(label) <= 63);
}

/** Equal for records that say the same, whatever their time to live. */
export function recordKey(record: DnsRecord): string {
  return `${record.name.toLowerCase()} ${record.type} ${JSON.stringify(record.data)}`;
}
