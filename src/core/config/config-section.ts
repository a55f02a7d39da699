import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { invalidConfig } from '../errors.ts';
import type { JsonObject, JsonSchema } from '../json.ts';

/** Returns the schema of a configuration section. Unknown keys are refused. If the file lacks the section, its defaults apply. */
export const section = <const Properties extends Schemas>(properties: Properties) =>
  ({ type: 'object', additionalProperties: false, default: {}, properties }) as const;

/** Returns the schema of a section that may be absent. If the file lacks the section, no defaults apply. Unknown keys are refused. */
export const optionalSection = <const Properties extends Schemas, const Required extends readonly string[] = readonly []>(
  properties: Properties,
  required?: Required,
) => ({ type: 'object', additionalProperties: false, properties, required: (required ?? []) as Required }) as const;

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Type of a value that fulfils `Schema`. Covers the keywords that the configuration uses. A property with a default is not optional. */
export type FileValue<Schema> = Schema extends { readonly enum: readonly (infer Word)[] }
  ? Word
  : Schema extends { readonly items: infer Item }
    ? readonly FileValue<Item>[]
    : Schema extends { readonly properties: infer Properties }
      ? { readonly [Key in Present<Schema, Properties>]: FileValue<Properties[Key]> } & {
          readonly [Key in Exclude<keyof Properties, Present<Schema, Properties>>]?: FileValue<Properties[Key]>;
        }
      : Schema extends { readonly additionalProperties: infer Item }
        ? Readonly<Record<string, FileValue<Item>>>
        : Schema extends { readonly type: infer Type }
          ? JsonTypes[(Type extends readonly (infer Each)[] ? Each : Type) & keyof JsonTypes]
          : never;

type Present<Schema, Properties> =
  | { [Key in keyof Properties]: Properties[Key] extends { readonly default: unknown } ? Key : never }[keyof Properties]
  | (Schema extends { readonly required: readonly (infer Key)[] } ? Key & keyof Properties : never);

interface JsonTypes {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  object: JsonObject;
}

/** Type of a module's settings: `FileValue` with keys in camelCase. `camelKeys` returns such settings. */
export type Settings<Schema> = CamelKeys<FileValue<Schema>>;

type CamelKeys<Value> = Value extends readonly (infer Item)[]
  ? readonly CamelKeys<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value as CamelCase<Key>]: CamelKeys<Value[Key]> }
    : Value;

type CamelCase<Key> = Key extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Key;

/** Returns a section with the keys of its schema in camelCase. Keys that the owner chose (`additionalProperties`) do not change. */
export function camelKeys<const Schema extends JsonSchema>(value: unknown, schema: Schema): Settings<Schema> {
  return renamedKeys(value, schema) as Settings<Schema>;
}

function renamedKeys(value: unknown, schema: JsonSchema): unknown {
  if (Array.isArray(value)) return value.map((item) => renamedKeys(item, schemaAt(schema, 'items')));
  if (typeof value !== 'object' || value === null) return value;
  const known = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const own = Object.hasOwn(known, key) ? known[key] : undefined;
      return own ? [camelCase(key), renamedKeys(item, own)] : [key, renamedKeys(item, schemaAt(schema, 'additionalProperties'))];
    }),
  );
}

function schemaAt(schema: JsonSchema, keyword: string): JsonSchema {
  const inner = schema[keyword];
  return typeof inner === 'object' && inner !== null ? (inner as JsonSchema) : {};
}

function camelCase(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** JSON Schema of a setting that says where a secret is stored. The secret itself is never in the file, which others may read. */
export const SECRET_SOURCE = {
  type: 'string',
  pattern: '^(env:[A-Za-z_][A-Za-z0-9_]*|file:/.+|credential:[A-Za-z0-9._-]+)$',
} as const;

const READABLE_BY_OTHERS = 0o077;

/**
 * Reads a secret and trims it. The source is `env:NAME` (environment variable), `file:/path` (a file that only its owner can read) or
 * `credential:NAME` (LoadCredential, systemd.exec(5)). Throws CONFIG_INVALID, which names the source and never the secret.
 */
export function readSecret(source: string, env: NodeJS.ProcessEnv): string {
  const [kind, ...rest] = source.split(':');
  const place = rest.join(':');
  const secret = kind === 'env' ? env[place] : readFile(kind === 'credential' ? credentialPath(place, env) : place, kind === 'file');
  if (secret === undefined || secret.trim() === '') throw invalidConfig(`${source} holds no secret; set it, or remove the setting`);
  return secret.trim();
}

function credentialPath(name: string, { CREDENTIALS_DIRECTORY: folder }: NodeJS.ProcessEnv): string {
  if (folder) return join(folder, name);
  throw invalidConfig(`credential:${name} needs a unit with LoadCredential=${name}:/path; systemd gave this process no credentials`);
}

function readFile(path: string, isPrivate: boolean): string {
  try {
    const { mode } = statSync(path);
    // A systemd credential may have any file mode, since only the service can read it.
    if (!isPrivate || (mode & READABLE_BY_OTHERS) === 0) return readFileSync(path, 'utf8');
  } catch {
    throw invalidConfig(`The secret in ${path} cannot be read; is it there, and may the user of the hub read it?`);
  }
  throw invalidConfig(`The secret in ${path} can be read by others; run chmod 600 ${JSON.stringify(path)}`);
}

/** The result of a configuration reload. Keys are dotted paths in the file. */
export interface ConfigReload {
  /** Changed keys that are already in force. */
  readonly applied: readonly string[];
  /** Changed keys that take effect at the next start. */
  readonly needsRestart: readonly string[];
}
