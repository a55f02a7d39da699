import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonSchema } from '../../core/json.ts';
import type { ProfileProblem } from '../check/profile-problem.ts';
import type { RawProfileFile } from './profile-files.ts';

/** The two schemas of profile files. */
export interface ProfileSchemas {
  readonly capability: JsonSchema;
  readonly device: JsonSchema;
}

/** Reads `capability.schema.json` and `device.schema.json` from the profile directory. */
export function readProfileSchemas(directory: string): ProfileSchemas {
  const read = (name: string): JsonSchema => JSON.parse(readFileSync(join(directory, name), 'utf8')) as JsonSchema;
  return { capability: read('capability.schema.json'), device: read('device.schema.json') };
}

const FIXES: Readonly<Record<string, string>> = {
  additionalProperties: 'remove it or correct its spelling',
  required: 'add it',
};

/** Checks files against their schemas: spelling and form. */
export class ProfileSchemaCheck {
  readonly #validators: Readonly<Record<RawProfileFile['kind'], ValidateFunction>>;

  constructor(schemas: ProfileSchemas) {
    const ajv = new Ajv2020({ allErrors: true, strict: false });
    this.#validators = { capabilities: ajv.compile(schemas.capability), devices: ajv.compile(schemas.device) };
  }

  problems(file: RawProfileFile): readonly ProfileProblem[] {
    const validate = this.#validators[file.kind];
    if (validate(file.content)) return [];
    return (validate.errors ?? []).map((error) => ({
      file: file.path,
      pointer: error.instancePath,
      problem: `${error.message ?? 'does not fit the schema'}${detailOf(error.params)}`,
      fix: FIXES[error.keyword] ?? 'see the JSON schemas in device-profiles',
    }));
  }
}

function detailOf(params: Record<string, unknown>): string {
  const { additionalProperty, allowedValues, propertyName } = params;
  if (typeof additionalProperty === 'string') return `: ${JSON.stringify(additionalProperty)}`;
  if (Array.isArray(allowedValues)) return `: ${allowedValues.join(', ')}`;
  return typeof propertyName === 'string' ? `: ${JSON.stringify(propertyName)}` : '';
}
