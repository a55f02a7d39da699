import type { AnnouncedService } from './discovery.ts';
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

/** Name of the query for all service types (RFC 6763 9). */
const SERVICE_TYPES_NAME = '_services._dns-sd._udp.local';

const HOST_TTL_SECONDS = 120;
const OTHER_TTL_SECONDS = 4_500; // RFC 6762 10

/** A service of this hub. */
export interface LocalService extends AnnouncedService {
  /** First label of the host name. */
  readonly host: string;
}

/** All records of a service, by their role in an answer. */
export interface ServiceRecords {
  readonly types: PtrRecord;
  readonly pointer: PtrRecord;
  readonly location: SrvRecord;
  readonly text: TxtRecord;
  readonly addresses: readonly AddressRecord[];
  /** NSEC records of the instance and of the host. */
  readonly absences: readonly [instance: NsecRecord, host: NsecRecord];
}

/** Returns the records of a service on the link with these addresses, which have no zone. */
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

/** Returns the records of announcements and, with time to live 0, of goodbyes. */
export function announcedRecords(records: ServiceRecords): readonly DnsRecord[] {
  return [records.pointer, records.location, records.text, ...records.addresses];
}

/** The answers to a query, and the records that its sender will need next. */
interface DnsAnswer {
  readonly answers: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** Answers all questions of a query, without the known answers that are valid for at least half their time (RFC 6762 7.1). */
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
  // A question for a missing type is answered too, or its sender would repeat it (RFC 6762 6.1).
  return asked.length > 0 ? asked : service.absences.filter((absence) => isSameName(absence.name, name));
}

/** Returns the additional records (RFC 6763 12). */
function additionalsTo(answers: readonly DnsRecord[], service: ServiceRecords): readonly DnsRecord[] {
  if (answers.includes(service.pointer)) return [service.location, service.text, ...service.addresses, ...service.absences];
  if (answers.includes(service.location)) return [...service.addresses, service.absences[1]];
  return service.addresses.some((address) => answers.includes(address)) ? [...service.addresses, service.absences[1]] : [];
}
