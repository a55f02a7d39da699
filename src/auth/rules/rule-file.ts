import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import type { RuleScalar } from '../../core/auth/rules.ts';
import { WEEKDAYS, type Weekday } from '../../core/clock.ts';
import { AtmoError, systemCode } from '../../core/errors.ts';
import { WRITTEN_LINE } from '../../core/untrusted-text.ts';

type OneOrMany<T> = T | readonly T[];

/** A comparison with one or more operators. All given operators must hold. */
export interface Comparison {
  readonly above?: number;
  readonly below?: number;
  readonly equals?: RuleScalar;
  readonly one_of?: readonly RuleScalar[];
}

/** Conditions of a rule as written in the file. All given conditions must hold. A condition with a list holds if one item matches. */
export interface RuleConditions {
  readonly agent?: OneOrMany<string>;
  readonly kind?: OneOrMany<'owner' | 'agent'>;
  readonly tool?: OneOrMany<string>;
  readonly device?: OneOrMany<string>;
  readonly device_type?: OneOrMany<string>;
  readonly area?: OneOrMany<string>;
  readonly action?: OneOrMany<string>;
  readonly risk?: OneOrMany<'none' | 'low' | 'medium' | 'dangerous'>;
  readonly time?: OneOrMany<{ readonly from: string; readonly to: string }>;
  readonly days?: OneOrMany<Weekday>;
  readonly value?: OneOrMany<Comparison & { readonly name: string }>;
  readonly param?: Readonly<Record<string, Comparison>>;
}

/** One rule of the file. */
export interface RuleEntry {
  readonly name: string;
  readonly description?: string;
  readonly effect: 'allow' | 'deny' | 'approve';
  readonly persons?: number;
  readonly reason?: string;
  readonly when: RuleConditions;
}

/** The parsed rules file after the schema check. */
export interface RulesFile {
  readonly timezone?: string;
  readonly default: 'allow' | 'deny';
  readonly rules: readonly RuleEntry[];
}

const text = { type: 'string', minLength: 1, maxLength: 256 };
// This schema accepts one text or a list of texts. It does not use `anyOf`, so that an error names the invalid item of a list.
const texts = { ...text, type: ['string', 'array'], items: text, minItems: 1, maxItems: 200 };
const scalar = { type: ['string', 'number', 'boolean', 'null'] };
const comparison = {
  above: { type: 'number' },
  below: { type: 'number' },
  equals: scalar,
  one_of: { type: 'array', items: scalar, minItems: 1, maxItems: 200 },
};

function oneOrMany(properties: object, required: readonly string[]) {
  const item = { properties, required, additionalProperties: false };
  return { ...item, type: ['object', 'array'], items: { ...item, type: 'object' }, minItems: 1, maxItems: 100 };
}

function names(values: readonly string[]) {
  return { anyOf: [{ enum: values }, { type: 'array', items: { enum: values }, minItems: 1 }] };
}

const CONDITIONS = {
  agent: texts,
  kind: names(['owner', 'agent']),
  tool: texts,
  device: texts,
  device_type: texts,
  area: texts,
  action: texts,
  risk: names(['none', 'low', 'medium', 'dangerous']),
  time: oneOrMany({ from: text, to: text }, ['from', 'to']),
  days: names(WEEKDAYS),
  value: oneOrMany({ name: text, ...comparison }, ['name']),
  param: {
    type: 'object',
    minProperties: 1,
    maxProperties: 20,
    additionalProperties: { type: 'object', properties: comparison, additionalProperties: false },
  },
};

/** JSON Schema of the rules file. */
export const RULES_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    timezone: text,
    default: { enum: ['allow', 'deny'], default: 'allow' },
    rules: {
      type: 'array',
      maxItems: 1000,
      default: [],
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'effect'],
        properties: {
          name: { ...text, maxLength: 80, pattern: WRITTEN_LINE },
          description: { ...text, maxLength: 1000 },
          effect: { enum: ['allow', 'deny', 'approve'] },
          persons: { type: 'integer', minimum: 1, maximum: 10 },
          reason: { ...text, pattern: WRITTEN_LINE },
          when: { type: 'object', additionalProperties: false, default: {}, properties: CONDITIONS },
        },
      },
    },
  },
};

/** Returns a value or a list of values as a list. */
export function listOf<T>(given: OneOrMany<T> | undefined): readonly T[] {
  if (given === undefined) return [];
  return Array.isArray(given) ? given : [given as T];
}

const MAX_BYTES = 1_000_000;
/** Bits of the file mode that let users other than the file's owner write the file. */
export const WRITABLE_BY_OTHERS = 0o022;

/** Returns a fingerprint that changes with the file's content and permissions. Returns undefined if there is no file. */
export function rulesSignature(file: string): string | undefined {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    return stat && `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
  } catch {
    return 'out of reach';
  }
}

/**
 * Returns the text of a rules file; undefined if there is no file. Throws CONFIG_INVALID if the file is unreadable, is too long, is not a
 * regular file, or can be written by users other than its owner.
 */
export function readRulesFile(file: string): string | undefined {
  const descriptor = openRulesFile(file);
  if (descriptor === undefined) return undefined;
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw refusedFile(file, 'is no ordinary file');
    if (stat.size > MAX_BYTES) throw refusedFile(file, `is longer than ${MAX_BYTES} bytes`);
    if ((stat.mode & WRITABLE_BY_OTHERS) !== 0)
      throw refusedFile(file, `can be written by others than its owner; run chmod go-w ${file}, and see that its rules are yours`);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

function openRulesFile(file: string): number | undefined {
  try {
    // O_NONBLOCK is needed because opening a named pipe would otherwise wait for a writer.
    return openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    if (systemCode(cause) === 'ENOENT') return undefined;
    throw refusedFile(file, 'cannot be read; make it readable for the user that runs the hub', cause);
  }
}

function refusedFile(file: string, problem: string, cause?: unknown): AtmoError {
  return new AtmoError('CONFIG_INVALID', `${file}: the rules file ${problem}`, { file }, { cause });
}
