import type { JsonObject } from './json.ts';

/** Log levels, the most verbose first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Severities of messages from running calls, least severe first (RFC 5424 §6.2.1). */
export const SEVERITIES = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Logs events, one in each line, with fields instead of prose. Callers must never pass keys, tokens, PINs or setup codes. */
export interface Logger {
  debug(event: string, fields?: JsonObject): void;
  info(event: string, fields?: JsonObject): void;
  warn(event: string, fields?: JsonObject): void;
  error(event: string, fields?: JsonObject): void;
  /** Returns a logger that adds `fields` to every line. */
  child(fields: JsonObject): Logger;
}

// Patterns of secrets: Matter setup codes, hub tokens, private keys and long hex secrets. The logger removes them, even if a caller passes
// them by mistake.
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g;
const SECRETS = [
  /MT:[A-Z0-9.\-*]{10,}/g,
  /\bat[01]\.[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+)?/g,
  /\batmo-(?:join|root)1\.[A-Za-z0-9_-]{16,}/g,
  /\b[0-9a-f]{64,}\b/gi,
  /\b\d{4}-?\d{3}-?\d{4}(\d{10})?\b/g,
  PRIVATE_KEY,
];
const SECRET_KEYS =
  /^(pin|pincode|passcode|password|secret|token|authorization|setupcode|setup_code|pairingcode|dataset|operationaldataset|credentials|ipk|key|passphrase|private_?key|api_?key|bearer|qr_?code|manual_?code|invite)$/i;

const HASH_KEYS = /(^|_)hash$/;
const SHA256_HEX = /^[0-9a-f]{64}$/;

/** Returns a value as the log may show it: `[redacted]` replaces each secret. */
export function redact(value: unknown): unknown {
  if (typeof value === 'string') return SECRETS.reduce((text, pattern) => text.replace(pattern, '[redacted]'), value);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactMember(key, item)]));
}

/** Returns whether this is a whole number below 100 named `pin`. Such a number is a GPIO line, never the PIN of a lock. */
export function isTwoDigitPin(name: string, value: unknown): boolean {
  return name.toLowerCase() === 'pin' && typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 100;
}

function redactMember(key: string, item: unknown): unknown {
  if (SECRET_KEYS.test(key) && typeof item !== 'boolean' && !isTwoDigitPin(key, item)) return '[redacted]';
  // Hashes that link audit rows look like secrets, but must stay readable.
  return HASH_KEYS.test(key) && typeof item === 'string' && SHA256_HEX.test(item) ? item : redact(item);
}

/** The lowest level that is logged. It may change while a logger uses it. */
export interface LogThreshold {
  readonly level: LogLevel;
}

/** Returns a logger. It passes each event of the level `lowest` or a higher level to `write`, as a line of JSON. */
export function createLogger(
  lowest: LogLevel | LogThreshold,
  write: (line: string, level: LogLevel) => void = (line) => process.stderr.write(line),
  base: JsonObject = {},
): Logger {
  const threshold = () => LOG_LEVELS.indexOf(typeof lowest === 'string' ? lowest : lowest.level);
  const at =
    (lineLevel: LogLevel) =>
    (event: string, fields: JsonObject = {}) => {
      if (LOG_LEVELS.indexOf(lineLevel) < threshold()) return;
      write(
        `${JSON.stringify({ time: new Date().toISOString(), level: lineLevel, event, ...(redact({ ...base, ...fields }) as JsonObject) })}\n`,
        lineLevel,
      );
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => createLogger(lowest, write, { ...base, ...fields }),
  };
}

/** A logger that writes nothing. */
export const silentLogger: Logger = createLogger('error', () => {});

const URGENT: ReadonlySet<LogLevel> = new Set(['warn', 'error']);

/**
 * Buffers log lines, since each write to a file, pipe or terminal wakes its reader. Lines below `warn` are written together at the end of
 * the event loop's turn, after the caller has its response. A line of `warn` or `error` is written at once, with all waiting lines.
 */
export class LogBuffer {
  readonly #write: (text: string) => void;
  #waiting = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(line: string, level: LogLevel): void {
    if (this.#waiting === '') setImmediate(() => this.flush());
    this.#waiting += line;
    if (URGENT.has(level)) this.flush();
  }

  /** Writes the buffered lines. Must also be called before the process ends. */
  flush(): void {
    if (this.#waiting === '') return;
    const text = this.#waiting;
    this.#waiting = '';
    this.#write(text);
  }
}
