import { type Answer, AUTHORITATIVE_ANSWER, type DecodedPacket, decode, encode, type Question, TRUNCATED_RESPONSE } from 'dns-packet';
import type { AnnouncedService } from './discovery.ts';

/** Message of multicast DNS (RFC 6762 18). */
export interface DnsMessage {
  /** DNS message id. It is 0 in multicast messages. The query of a unicast resolver may have another id, which the response must repeat. */
  readonly id: number;
  readonly kind: 'query' | 'response';
  /** Whether more known answers follow in the next message (TC bit). */
  readonly isTruncated: boolean;
  readonly questions: readonly DnsQuestion[];
  /** In a query, the answers that the sender already knows. In a response, the answers to a query. */
  readonly answers: readonly DnsRecord[];
  /** In a query that probes whether a name is free, the records that the sender wants to give this name. */
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

const MAX_MESSAGE_BYTES = 9_000; // RFC 6762 17
const MAX_ENTRIES = 1_024;
const HEADER_BYTES = 12;
const SHORTEST_QUESTION_BYTES = 5;
const SHORTEST_RECORD_BYTES = 11;
const QU_INTERNET_CLASS = 'UNKNOWN_32769';

/** Encodes a DNS message; an absent list is encoded as empty, and an absent id as 0. */
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
 * Decodes a DNS message. Returns undefined if the bytes are malformed. Leaves out records whose type or class is not supported. Compressed
 * names cannot loop, because dns-packet follows pointers only backwards.
 */
export function decodeDnsMessage(bytes: Buffer): DnsMessage | undefined {
  if (bytes.length > MAX_MESSAGE_BYTES || !hasPlausibleCounts(bytes)) return undefined;
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

// Returns whether the record counts in the header are plausible for the length of the message. Without this check, a message of twelve
// bytes could make dns-packet allocate 262,140 records.
function hasPlausibleCounts(bytes: Buffer): boolean {
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
  /** Validity of the record in seconds; 0 withdraws the record. */
  readonly ttlSeconds: number;
  /** Cache-flush bit (RFC 6762 10.2). If it is set, a single host owns all records with this name and type. */
  readonly isUnique: boolean;
  readonly data: Data;
}

/** DNS record that points from a service type to a service instance. */
export type PtrRecord = RecordOf<'PTR', string>;
/** DNS record with the host and port of a service instance. */
type SrvRecord = RecordOf<'SRV', { readonly target: string; readonly port: number }>;
/** DNS record with the attributes of a service instance as `key=value`. */
type TxtRecord = RecordOf<'TXT', readonly string[]>;
/** DNS record with an address of a host. */
export type AddressRecord = RecordOf<'A' | 'AAAA', string>;
/** DNS record that lists the record types that exist for a name (RFC 6762 6.1). */
type NsecRecord = RecordOf<'NSEC', readonly string[]>;
/** DNS record of service discovery (RFC 6763). */
export type DnsRecord = PtrRecord | SrvRecord | TxtRecord | AddressRecord | NsecRecord;

/** A question in a DNS query. */
export interface DnsQuestion {
  readonly name: string;
  /** Record type, or `ANY` for all types. */
  readonly type: string;
  /** QU bit: the sender prefers a unicast response (RFC 6762 5.4). */
  readonly wantsUnicast: boolean;
}

/** Compares DNS names without regard to case. */
export function isSameName(one: string, other: string): boolean {
  return one.length === other.length && one.toLowerCase() === other.toLowerCase();
}

/** Returns whether a decoded name encodes to its original bytes. A name with U+FFFD, the mark for invalid UTF-8, does not. */
export function isPlainName(name: string): boolean {
  return !name.includes('\ufffd') && name.split('.').every((label) => label !== '' && Buffer.byteLength(label) <= 63);
}

/** Returns a key for a record; records that differ only in their time to live have the same key. */
export function recordKey(record: DnsRecord): string {
  return `${record.name.toLowerCase()} ${record.type} ${JSON.stringify(record.data)}`;
}

/** Domain name for queries of all service types (RFC 6763 9). */
const SERVICE_TYPES_NAME = '_services._dns-sd._udp.local';

const HOST_TTL_SECONDS = 120;
const OTHER_TTL_SECONDS = 4_500; // RFC 6762 10

/** DNS-SD service that this hub announces. `host` is the first label of this hub's host name. */
export interface LocalService extends AnnouncedService {
  readonly host: string;
}

/** DNS records of a service by their role in a response. */
export interface ServiceRecords {
  readonly types: PtrRecord;
  readonly pointer: PtrRecord;
  readonly location: SrvRecord;
  readonly text: TxtRecord;
  readonly addresses: readonly AddressRecord[];
  /** NSEC records of the instance and of the host. Each lists the record types that exist for its name. */
  readonly absences: readonly [instance: NsecRecord, host: NsecRecord];
}

/** Returns the DNS records of a service on one link. `addresses` are this hub's addresses on the link, without zones. */
export function serviceRecords(service: LocalService, addresses: readonly string[]): ServiceRecords {
  const type = `${service.type}.local`;
  const name = `${service.name}.${type}`;
  const host = `${service.host}.local`;
  const other = { ttlSeconds: OTHER_TTL_SECONDS, isUnique: true };
  const ofHost = { name: host, ttlSeconds: HOST_TTL_SECONDS, isUnique: true };
  const records = addresses.map((data): AddressRecord => ({ ...ofHost, type: data.includes(':') ? 'AAAA' : 'A', data }));
  return {
    types: { name: SERVICE_TYPES_NAME, type: 'PTR', ...other, isUnique: false, data: type },
    pointer: { name: type, type: 'PTR', ...other, isUnique: false, data: name },
    location: { ...ofHost, name, type: 'SRV', data: { target: host, port: service.port } },
    text: { name, type: 'TXT', ...other, data: Object.entries(service.txt).map(([key, value]) => `${key}=${value}`) },
    addresses: records,
    absences: [
      { name, type: 'NSEC', ...other, data: ['TXT', 'SRV'] },
      { ...ofHost, type: 'NSEC', data: [...new Set(records.map((record) => record.type))].sort() },
    ],
  };
}

/** Returns the records of an announcement. A goodbye has the same records with time to live 0. */
export function announcedRecords(records: ServiceRecords): readonly DnsRecord[] {
  return [records.pointer, records.location, records.text, ...records.addresses];
}

/** Answers to a query, and additional records that the querier will need next. */
interface DnsAnswer {
  readonly answers: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** Returns the answers to a query, without `known` answers that have at least half of their lifetime left (RFC 6762 7.1). */
export function answerTo(questions: readonly DnsQuestion[], known: readonly DnsRecord[], service: ServiceRecords): DnsAnswer {
  const knownSeconds = new Map(known.map((record) => [recordKey(record), record.ttlSeconds]));
  const isUnknown = (record: DnsRecord) => (knownSeconds.get(recordKey(record)) ?? 0) < record.ttlSeconds / 2;
  const answers = [...new Set(questions.flatMap((question) => recordsFor(question, service)).filter(isUnknown))];
  return { answers, additionals: additionalsTo(answers, service).filter((record) => !answers.includes(record)) };
}

function recordsFor({ name, type }: DnsQuestion, service: ServiceRecords): readonly DnsRecord[] {
  const ofName = [service.types, service.pointer, service.location, service.text, ...service.addresses].filter((record) =>
    isSameName(record.name, name),
  );
  const asked = type === 'ANY' ? ofName : ofName.filter((record) => record.type === type);
  // If the requested record type does not exist, the answer is NSEC. Without it, the querier would ask again (RFC 6762 6.1).
  return asked.length > 0 ? asked : service.absences.filter((absence) => isSameName(absence.name, name));
}

/** Returns the additional records for a response (RFC 6763 12). */
function additionalsTo(answers: readonly DnsRecord[], service: ServiceRecords): readonly DnsRecord[] {
  if (answers.includes(service.pointer)) return [service.location, service.text, ...service.addresses, ...service.absences];
  if (answers.includes(service.location)) return [...service.addresses, service.absences[1]];
  return service.addresses.some((address) => answers.includes(address)) ? [...service.addresses, service.absences[1]] : [];
}
