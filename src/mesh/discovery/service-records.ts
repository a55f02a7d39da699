import {
  type AddressRecord,
  type DnsQuestion,
  type DnsRecord,
  isSameName,
  type NsecRecord,
  type PtrRecord,
  recordKey,
  type SrvRecord,
  type TxtRecord,
} from './dns-message.ts';

/** Answers the question which types of services there are (RFC 6763 9). */
export const SERVICE_TYPES_NAME = '_services._dns-sd._udp.local';

const HOST_TTL_SECONDS = 120;
const OTHER_TTL_SECONDS = 4_500; // RFC 6762 10

/** A service to tell of on one link. */
export interface LocalService {
  readonly name: string;
  readonly type: string;
  readonly port: number;
  readonly txt: Readonly<Record<string, string>>;
  /** First label of the host's name. */
  readonly host: string;
}

/** All records of a service, by their part in an answer. */
export interface ServiceRecords {
  readonly types: PtrRecord;
  readonly pointer: PtrRecord;
  readonly location: SrvRecord;
  readonly text: TxtRecord;
  readonly addresses: readonly AddressRecord[];
  /** What the instance's and the host's name do not have. */
  readonly absences: readonly [instance: NsecRecord, host: NsecRecord];
}

/** `addresses` are those of the link that is asked, without zone. */
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

/** What is told unasked when the service appears, and with time to live 0 when it goes. */
export function announcedRecords(records: ServiceRecords): readonly DnsRecord[] {
  return [records.pointer, records.location, records.text, ...records.addresses];
}

/** What answers a question, and what the asker will want next. */
export interface DnsAnswer {
  readonly answers: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** Answers all questions of a message, leaving out what the asker knows for at least half its time (RFC 6762 7.1). */
export function answerTo(questions: readonly DnsQuestion[], known: readonly DnsRecord[], service: ServiceRecords): DnsAnswer {
  const knownSeconds = new Map(known.map((record) => [recordKey(record), record.ttlSeconds]));
  const isUnknown = (record: DnsRecord) => (knownSeconds.get(recordKey(record)) ?? 0) < record.ttlSeconds / 2;
  const answers = distinct(questions.flatMap((question) => recordsFor(question, service)).filter(isUnknown));
  return { answers, additionals: without(additionalsTo(answers, service), answers) };
}

function recordsFor({ name, type }: DnsQuestion, service: ServiceRecords): readonly DnsRecord[] {
  const ofName = [service.types, service.pointer, service.location, service.text, ...service.addresses].filter((record) =>
    isSameName(record.name, name),
  );
  const asked = type === 'ANY' ? ofName : ofName.filter((record) => record.type === type);
  // To ask for what a name does not have is answered too, or the asker would ask on (RFC 6762 6.1).
  return asked.length > 0 ? asked : service.absences.filter((absence) => isSameName(absence.name, name));
}

/** RFC 6763 12. */
function additionalsTo(answers: readonly DnsRecord[], service: ServiceRecords): readonly DnsRecord[] {
  if (answers.includes(service.pointer)) return [service.location, service.text, ...service.addresses, ...service.absences];
  if (answers.includes(service.location)) return [...service.addresses, service.absences[1]];
  return service.addresses.some((address) => answers.includes(address)) ? [...service.addresses, service.absences[1]] : [];
}

function distinct(records: readonly DnsRecord[]): readonly DnsRecord[] {
  return [...new Set(records)];
}

function without(records: readonly DnsRecord[], others: readonly DnsRecord[]): readonly DnsRecord[] {
  return records.filter((record) => !others.includes(record));
}
