import { type Answer, AUTHORITATIVE_ANSWER, type DecodedPacket, decode, encode, type Question, TRUNCATED_RESPONSE } from 'dns-packet';

/** A message of multicast DNS (RFC 6762 18). */
export interface DnsMessage {
  /** 0 but in questions of plain resolvers, which want it back. */
  readonly id: number;
  readonly kind: 'query' | 'response';
  /** More known answers follow in the next message. */
  readonly isTruncated: boolean;
  readonly questions: readonly DnsQuestion[];
  /** In a query: what the asker knows already. */
  readonly answers: readonly DnsRecord[];
  /** In a query: what the asker is about to claim. */
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

const MAX_MESSAGE_BYTES = 9_000; // RFC 6762 17
const MAX_ENTRIES = 1_024;
const HEADER_BYTES = 12;
const SHORTEST_QUESTION_BYTES = 5;
const SHORTEST_RECORD_BYTES = 11;
const QU_INTERNET_CLASS = 'UNKNOWN_32769';

/** A message to send, what is not given being empty. */
export function encodeDnsMessage(message: Partial<DnsMessage> & Pick<DnsMessage, 'kind'>): Buffer {
  return encode({
    id: message.id ?? 0,
    type: message.kind,
    flags: (message.kind === 'response' ? AUTHORITATIVE_ANSWER : 0) | (message.isTruncated ? TRUNCATED_RESPONSE : 0),
    questions: (message.questions ?? []).map(({ name, type }) => ({ name, type: type as Question['type'], class: 'IN' })),
    answers: (message.answers ?? []).map(answerOf),
    authorities: (message.authorities ?? []).map(answerOf),
    additionals: (message.additionals ?? []).map(answerOf),
  });
}

/**
 * Reads a message; undefined for what is none. Records of other types and classes are left out. Names cannot loop: the
 * library follows pointers backwards only.
 */
export function decodeDnsMessage(bytes: Buffer): DnsMessage | undefined {
  if (bytes.length > MAX_MESSAGE_BYTES || !holdsWhatItCounts(bytes)) return undefined;
  let packet: DecodedPacket;
  try {
    packet = decode(bytes);
  } catch {
    return undefined;
  }
  return {
    id: packet.id ?? 0,
    kind: packet.type ?? 'query',
    isTruncated: packet.flag_tc,
    questions: (packet.questions ?? []).flatMap(questionOf),
    answers: (packet.answers ?? []).flatMap(recordOf),
    authorities: (packet.authorities ?? []).flatMap(recordOf),
    additionals: (packet.additionals ?? []).flatMap(recordOf),
  };
}

// The library makes room for as many entries as the header counts: twelve bytes could ask for 262,140.
function holdsWhatItCounts(bytes: Buffer): boolean {
  if (bytes.length < HEADER_BYTES) return false;
  const questions = bytes.readUInt16BE(4);
  const records = bytes.readUInt16BE(6) + bytes.readUInt16BE(8) + bytes.readUInt16BE(10);
  const leastBytes = HEADER_BYTES + questions * SHORTEST_QUESTION_BYTES + records * SHORTEST_RECORD_BYTES;
  return questions + records <= MAX_ENTRIES && leastBytes <= bytes.length;
}

function questionOf({ name, type, class: dnsClass }: Question): readonly DnsQuestion[] {
  const wantsUnicast = (dnsClass as string) === QU_INTERNET_CLASS;
  return wantsUnicast || dnsClass === 'IN' || dnsClass === 'ANY' ? [{ name, type, wantsUnicast }] : [];
}

function recordOf(answer: Answer): readonly DnsRecord[] {
  if (answer.type === 'OPT' || answer.class !== 'IN') return [];
  const head = { name: answer.name, ttlSeconds: answer.ttl ?? 0, isUnique: answer.flush === true };
  switch (answer.type) {
    case 'A':
    case 'AAAA':
      return [{ ...head, type: answer.type, data: answer.data }];
    case 'PTR':
      return [{ ...head, type: 'PTR', data: answer.data }];
    case 'SRV':
      return [{ ...head, type: 'SRV', data: { target: answer.data.target, port: answer.data.port } }];
    case 'TXT':
      return [{ ...head, type: 'TXT', data: [answer.data].flat().map(String) }];
    case 'NSEC':
      return [{ ...head, type: 'NSEC', data: answer.data.rrtypes }];
    default:
      return [];
  }
}

function answerOf(record: DnsRecord): Answer {
  const head = { name: record.name, ttl: record.ttlSeconds, flush: record.isUnique, class: 'IN' as const };
  switch (record.type) {
    case 'A':
    case 'AAAA':
    case 'PTR':
      return { ...head, type: record.type, data: record.data };
    case 'SRV':
      return { ...head, type: 'SRV', data: record.data };
    case 'TXT':
      return { ...head, type: 'TXT', data: record.data.length === 0 ? [''] : [...record.data] };
    case 'NSEC':
      return { ...head, type: 'NSEC', data: { nextDomain: record.name, rrtypes: [...record.data] } };
  }
}

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
