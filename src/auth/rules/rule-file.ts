import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import type { RuleScalar } from '../../core/auth/rules.ts';
import { WEEKDAYS, type Weekday } from '../../core/clock.ts';
import { AtmoError, systemCode } from '../../core/errors.ts';
import { WRITTEN_LINE } from '../../core/untrusted-text.ts';

type OneOrMany<T> = T | readonly T[];

/** At least one of these; all that are given have to hold. */
export interface Comparison {
  readonly above?: number;
  readonly below?: number;
  readonly equals?: RuleScalar;
  readonly one_of?: readonly RuleScalar[];
}

/** Conditions as the file has them; each that is there has to hold, of a list any. */
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

/** The file, its shape checked. */
export interface RulesFile {
  readonly timezone?: string;
  readonly default: 'allow' | 'deny';
  readonly rules: readonly RuleEntry[];
}

const text = { type: 'string', minLength: 1, maxLength: 256 };
// Keywords bind only values of their own type, so that a mistake in a list is told for its very item.
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

/** A value or a list of values as a list. */
export function listOf<T>(given: OneOrMany<T> | undefined): readonly T[] {
  if (given === undefined) return [];
  return Array.isArray(given) ? given : [given as T];
}

const MAX_BYTES = 1_000_000;
/** Bits of a file's mode with which others than its owner may write it. */
export const WRITABLE_BY_OTHERS = 0o022;

/** The rules file on the disk: its text, and a cheap way to see that it changed. */
export class RuleSource {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  /** Differs whenever content, place or rights of the file may differ; undefined while there is no file. */
  signature(): string | undefined {
    try {
      const stat = statSync(this.file, { throwIfNoEntry: false });
      return stat && `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
    } catch {
      return 'out of reach';
    }
  }

  /** Undefined when there is no file; CONFIG_INVALID for one that others could have written, or that is none. */
  read(): string | undefined {
    const descriptor = this.#open();
    if (descriptor === undefined) return undefined;
    try {
      this.#require(fstatSync(descriptor));
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  }

  #open(): number | undefined {
    try {
      // A named pipe would keep the hub waiting for a writer.
      return openSync(this.file, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (cause) {
      if (systemCode(cause) === 'ENOENT') return undefined;
      throw this.#refused('cannot be read; make it readable for the user that runs the hub', cause);
    }
  }

  #require(stat: Stats): void {
    if (!stat.isFile()) throw this.#refused('is no ordinary file');
    if (stat.size > MAX_BYTES) throw this.#refused(`is longer than ${MAX_BYTES} bytes`);
    if ((stat.mode & WRITABLE_BY_OTHERS) !== 0) {
      throw this.#refused(`can be written by others than its owner; run chmod go-w ${this.file}, and see that its rules are yours`);
    }
  }

  #refused(problem: string, cause?: unknown): AtmoError {
    return new AtmoError('CONFIG_INVALID', `${this.file}: the rules file ${problem}`, { file: this.file }, { cause });
  }
}
