import { Ajv2020, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { isBase64 } from '../../core/base64.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../core/json.ts';
import { isOwnSchema } from './own-schema.ts';
import { copyJson, DEFAULT_JSON_LIMITS, type JsonLimits } from './plain-json.ts';
import { schemaKey, withoutAnnotations } from './schema-key.ts';
import { describeProblems, type SchemaProblem, summarize } from './schema-problems.ts';

/** The value with its defaults filled in, or all that is wrong with it. */
export type CheckResult =
  | { readonly isValid: true; readonly value: Json }
  | { readonly isValid: false; readonly problems: readonly SchemaProblem[] };

interface ValidatorOptions {
  readonly limits?: JsonLimits;
  /** Compiled schemas kept, least recently used leave first. */
  readonly maxCompiled?: number;
  /** Compilations after which a new ajv instance takes over: ajv keeps code of what it compiled. */
  readonly rotateAfter?: number;
}

/**
 * Characters of a value times those of its schema, up to which all mistakes are told. Beyond it is the first one alone: each of
 * thousands of items could make hundreds of them.
 */
const MAX_TOLD = 40_000_000;

/** Checks values against JSON Schemas 2020-12; compiles on first use and shares code between schemas that differ in wording. */
export class SchemaValidator {
  readonly #limits: JsonLimits;
  readonly #maxCompiled: number;
  readonly #rotateAfter: number;
  readonly #keys = new WeakMap<JsonSchema, string>();
  readonly #lengths = new WeakMap<JsonSchema, number>();
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #ajvs = new Map<string, Ajv2020>();
  #compilations = 0;

  constructor(options: ValidatorOptions = {}) {
    this.#limits = options.limits ?? DEFAULT_JSON_LIMITS;
    this.#maxCompiled = options.maxCompiled ?? 500;
    this.#rotateAfter = options.rotateAfter ?? 500;
  }

  /** How many compiled schemas are kept, and how many were compiled since the start. */
  get stats(): { readonly kept: number; readonly compilations: number } {
    return { kept: this.#compiled.size, compilations: this.#compilations };
  }

  /** Checks a copy of `value` and fills defaults in; texts are never turned into numbers. PAYLOAD_TOO_LARGE beyond the limits. */
  check(schema: JsonSchema, value: unknown, limits = this.#limits): CheckResult {
    const copy = copyJson(value, limits);
    const validate = this.#validatorOf(schema, this.#lengthOf(schema) * JSON.stringify(copy).length > MAX_TOLD ? 'first' : 'all');
    if (validate(copy)) return { isValid: true, value: copy };
    return { isValid: false, problems: describeProblems(schema, copy, validate.errors ?? []) };
  }

  /** Parameters with defaults filled in; VALIDATION_ERROR says in one sentence what is wrong, details list everything. */
  parameters(schema: JsonSchema, value: unknown, limits = this.#limits): JsonObject {
    const result = this.check(schema, value, limits);
    if (!result.isValid)
      throw new AtmoError('VALIDATION_ERROR', summarize(result.problems), { problems: result.problems.map(problemJson) });
    if (!isJsonObject(result.value)) throw new AtmoError('VALIDATION_ERROR', 'The parameters have to be a JSON object');
    return result.value;
  }

  /** Throws VALIDATION_ERROR where a schema cannot be compiled. */
  compile(schema: JsonSchema): void {
    this.#validatorOf(schema, 'all');
  }

  #validatorOf(schema: JsonSchema, told: Told): ValidateFunction {
    const key = `${told} ${this.#keyOf(schema)}`;
    const known = this.#compiled.get(key);
    if (known) this.#compiled.delete(key);
    const validate = known ?? this.#compile(schema, told);
    this.#compiled.set(key, validate);
    const oldest = this.#compiled.keys().next().value;
    if (this.#compiled.size > this.#maxCompiled && oldest !== undefined) this.#compiled.delete(oldest);
    return validate;
  }

  #lengthOf(schema: JsonSchema): number {
    const known = this.#lengths.get(schema);
    if (known !== undefined) return known;
    const { length } = JSON.stringify(schema);
    this.#lengths.set(schema, length);
    return length;
  }

  #keyOf(schema: JsonSchema): string {
    const known = this.#keys.get(schema);
    if (known !== undefined) return known;
    const key = schemaKey(schema);
    this.#keys.set(schema, key);
    return key;
  }

  #compile(schema: JsonSchema, told: Told): ValidateFunction {
    if (this.#compilations % this.#rotateAfter === 0) this.#ajvs.clear();
    this.#compilations++;
    // To compile the schema of schemas takes a start 0.14 s and 4 MB.
    const validateSchema = !isOwnSchema(schema);
    const form = `${told} ${validateSchema}`;
    const ajv = this.#ajvs.get(form) ?? createAjv(told, { validateSchema, meta: validateSchema });
    this.#ajvs.set(form, ajv);
    try {
      return ajv.compile(withoutAnnotations(schema));
    } catch (error) {
      throw new AtmoError(
        'VALIDATION_ERROR',
        `The JSON Schema cannot be used: ${error instanceof Error ? error.message : 'unknown reason'}`,
      );
    }
  }
}

/** Which mistakes of a value are told. */
type Told = 'all' | 'first';

function createAjv(told: Told, proof: Pick<Options, 'validateSchema' | 'meta'>): Ajv2020 {
  const ajv = new Ajv2020({ ...proof, allErrors: told === 'all', useDefaults: true, coerceTypes: false, strict: false, logger: false });
  addFormats.default(ajv);
  // The draft only annotates contentEncoding; here base64 has to be base64 (a URI must not pass for it).
  ajv.removeKeyword('contentEncoding');
  ajv.addKeyword({
    keyword: 'contentEncoding',
    schemaType: 'string',
    type: 'string',
    validate: (encoding: string, text: string) => encoding !== 'base64' || isBase64(text),
  });
  return ajv;
}

function problemJson(problem: SchemaProblem): JsonObject {
  return { ...problem };
}
