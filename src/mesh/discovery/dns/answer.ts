import { type DnsQuestion, type DnsRecord, isSameName, recordKey } from './dns-record.ts';
import type { ServiceRecords } from './service-records.ts';

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
