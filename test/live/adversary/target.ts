import { randomBytes } from 'node:crypto';

/** A device of somebody else, as an attacker who guesses well would name it. */
export interface Prey {
  readonly id: string;
  readonly name: string;
  readonly area: string;
  /** The name as it stands in names of tools. */
  readonly slug: string;
  readonly serial: string;
}

/** All that an attacker could aim at: things that are there, or things of the same form that are not. */
export interface Target {
  readonly lock: Prey;
  readonly beacon: Prey;
  readonly climate: Prey;
  readonly gauge: Prey;
  readonly sensor: string;
  readonly agent: string;
  readonly token: string;
  readonly job: string;
  readonly approval: string;
  readonly person: string;
  readonly rule: string;
  readonly group: number;
  readonly idempotencyKey: string;
  readonly request: string;
  readonly event: string;
  readonly keyId: string;
}

/** Words that occur in nothing but the names of what the attacker must not learn of. */
const SECRET_WORDS = [
  'saffron',
  'portal',
  'vestibule',
  'marigold',
  'beacon',
  'orangery',
  'juniper',
  'warmth',
  'scullery',
  'periwinkle',
  'weathervane',
  'conservatory',
  'quartermaster',
  'nightfall',
  'curfew',
  'winifred',
];

/** The same text with every secret word replaced by one that means nothing here: same length, same case. */
export function decoyText(text: string): string {
  return text.replace(wordPattern(SECRET_WORDS), (word) => word.replace(/[a-z]/gi, nextLetter));
}

/** A target of the same form that does not exist: whoever cannot tell the answers apart has learnt nothing. */
export function decoyOf(target: Target): Target {
  const fresh = {
    group: target.group + 17,
    job: sameForm(target.job),
    token: sameForm(target.token),
    approval: sameForm(target.approval),
    idempotencyKey: sameForm(target.idempotencyKey),
    request: sameForm(target.request),
    event: sameForm(target.event),
    keyId: sameForm(target.keyId),
    lock: nameless(target.lock, 4_001),
    beacon: nameless(target.beacon, 4_002),
    climate: nameless(target.climate, 4_003),
    gauge: nameless(target.gauge, 4_004),
  };
  return { ...(JSON.parse(decoyText(JSON.stringify(target))) as Target), ...fresh };
}

function nameless(prey: Prey, number: number): Prey {
  return { ...(JSON.parse(decoyText(JSON.stringify(prey))) as Prey), serial: `serial-${number}` };
}

/** Secret words and serial numbers in a text, however they are written. */
export function secretsIn(text: string, target: Target): readonly string[] {
  const plain = folded(text);
  const serials = [target.lock, target.beacon, target.climate, target.gauge].map(({ serial }) => serial);
  const ids = [target.job, target.approval, target.token, target.event];
  return [...SECRET_WORDS, ...serials, ...ids].filter((word) => plain.includes(word.toLowerCase()));
}

/** What is left to compare of two answers once ids, times and the words that were asked for are taken out. */
export function comparable(text: string): string {
  const decoys = new Map(SECRET_WORDS.map((word) => [decoyText(word), word]));
  return (
    folded(text)
      .replace(wordPattern([...decoys.keys()]), (word) => decoys.get(word) ?? word)
      .replace(/\bat1\.[\w-]+(?:\.[\w-]+)?/g, 'TOKEN')
      .replace(/\d{4}-\d\d-\d\dt[\d:.]+z/g, 'TIME')
      .replace(/(?:[a-z]{3}, )?\d\d [a-z]{3} \d{4} [\d:]{8} gmt/g, 'TIME')
      .replace(/[0-9a-f]{8}-[0-9a-f-]{27,}/g, 'ID')
      .replace(/serial-\d+/g, 'SERIAL')
      .replace(/[0-9a-f]{8,}/g, 'ID')
      .replace(
        /"(duration_ms|execution_time_ms|executiontime|uptime_ms|mean_ms|calls|errors|runs|group|groupid|retry_after_ms|age_ms)":[\d.]+/g,
        '"$1":N',
      )
      .replace(/group \d+/g, 'group N')
      // Suggestions come from the caller's own tools, by likeness to the very letters that were asked for.
      .replace(/did you mean [^?]*\?|list the (tools|devices) to see what there is|near it are [^"]*|; get \/\S+ lists [^"]*/g, 'HINT')
      .replace(/"(suggestions|nearest|candidates)":\[[^\]]*\]/g, '"$1":[]')
      .replace(/content-length: \d+/g, 'content-length: N')
      // A hash of the body, which is compared itself.
      .replace(/etag: \S+/g, 'etag: N')
  );
}

function folded(text: string): string {
  return decoded(text).normalize('NFKC').toLowerCase();
}

/** Percent signs undone as often as somebody may have put them there. */
function decoded(text: string): string {
  const once = text.replace(/(?:%[0-9a-f]{2})+/gi, (part) => Buffer.from(part.replaceAll('%', ''), 'hex').toString('utf8'));
  return once === text ? once : decoded(once);
}

function wordPattern(words: readonly string[]): RegExp {
  return new RegExp(words.join('|'), 'gi');
}

function nextLetter(letter: string): string {
  const base = letter >= 'a' ? 97 : 65;
  return String.fromCharCode(base + ((letter.charCodeAt(0) - base + 1) % 26));
}

function sameForm(id: string): string {
  const hex = randomBytes(id.length).toString('hex');
  let at = 0;
  return id.replace(/[0-9a-f]/g, () => hex[at++] ?? '0');
}
