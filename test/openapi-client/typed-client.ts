import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ClientOptions } from 'openapi-fetch';
import { foreignPackages } from '../../scripts/foreign-packages.ts';
import { type JsonObject, objectOf, textsOf } from '../../src/core/json.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const GENERATOR = join(foreignPackages('openapi-client') ?? '', 'node_modules/openapi-typescript/bin/cli.js');

/** What the program below answers. */
export interface Seen {
  readonly status: string | undefined;
  readonly registered: string | undefined;
  readonly listed: number | undefined;
  readonly result: unknown;
  readonly refused: string | undefined;
  readonly failed: string | undefined;
  readonly removed: string | undefined;
}
export type UseHub = (baseUrl: string, token: string, fetch?: ClientOptions['fetch']) => Promise<Seen>;

/** A client of a stranger, who knows of the hub what its document says. */
const PROGRAM = `import createClient from 'openapi-fetch';
import type { paths } from './hub.d.ts';

export async function useHub(baseUrl: string, token: string, fetch?: (request: Request) => Promise<Response>) {
  const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` }, ...(fetch && { fetch }) });
  const { data: health } = await client.GET('/healthz');
  const steps = [{ tool: 'echo', params: { value: { $param: 'said' } } }];
  const body = { id: 'say', name: 'Say', description: 'Says it again.', input_schema: { said: 'string' }, steps };
  const { data: made } = await client.POST('/api/v1/tools', { body });
  const id: string | undefined = made && 'id' in made ? made.id : undefined;
  const { data: list } = await client.GET('/api/v1/tools', { params: { query: { limit: 3, category: 'managing' } } });
  const path = { id: 'say' };
  const header = { 'Idempotency-Key': 'once' };
  const { data: answer } = await client.POST('/api/v1/tools/{id}/invoke', { params: { path, header }, body: { said: 'hello' } });
  const result: unknown = typeof answer === 'object' && 'status' in answer && 'result' in answer ? answer.result : undefined;
  const { error } = await client.GET('/api/v1/devices/{id}', { params: { path: { id: 'nothing' } } });
  const { error: wrong } = await client.POST('/api/v1/tools/{id}/invoke', { params: { path }, body: { nonsense: 1 } });
  const { data: removed } = await client.DELETE('/api/v1/tools/{id}', { params: { path } });
  const code = error?.error.code;
  const failed: string | undefined = wrong?.error.code;
  return { status: health?.status, registered: id, listed: list?.tools.length, result, refused: code, failed, removed: removed && 'removed' in removed ? removed.removed : undefined };
}
`;
/** The same with a slip of the pen of each kind: what a typed client is for. */
export const MISTAKES: readonly (readonly [string, string])[] = [
  ["client.GET('/healthz')", "client.GET('/health')"],
  ["category: 'managing'", "category: 'manging'"],
  ['made.id :', 'made.identity :'],
  ["path: { id: 'nothing' }", "path: { name: 'nothing' }"],
  ['error?.error.code', 'error?.error.kode'],
];

/** True when the generator is installed. */
export function hasGenerator(): boolean {
  return existsSync(GENERATOR);
}

/** Types made from the document, and the program that uses them: the folder that has both. */
export async function generateClient(document: unknown): Promise<string> {
  mkdirSync(join(ROOT, '.run'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.run/typed-client-'));
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  await run(process.execPath, [GENERATOR, join(folder, 'openapi.json'), '--output', join(folder, 'hub.d.ts')], { timeout: 60_000 });
  writeProgram(folder);
  return folder;
}

/** Writes the program, with one text in place of another. */
export function writeProgram(folder: string, name = 'use-hub.ts', [from, to]: readonly [string, string] = ['', '']): void {
  writeFileSync(join(folder, name), PROGRAM.replace(from, to));
}

/**
 * A program that calls each operation and reads what it refuses by one type. Refusals of JSON-RPC have that type in their data; those of OAuth
 * are a word, as RFC 6749 §5.2 says.
 */
export function everyOperation(document: JsonObject): string {
  const calls = Object.entries(objectOf(document.paths)).flatMap(([path, methods]) =>
    Object.entries(objectOf(methods)).map(([method, operation]) => {
      const isRpc = textsOf(objectOf(operation).tags).includes('mcp');
      const reader = path.startsWith('/oauth/') ? 'oauthCodeOf' : isRpc ? 'rpcCodeOf' : 'codeOf';
      return `  codes.push(${reader}((await client.${method.toUpperCase()}('${path}', {} as never)).error));`;
    }),
  );
  return `import createClient from 'openapi-fetch';
import type { components, paths } from './hub.d.ts';

type Failure = components['schemas']['Failure'];
const codeOf = (failure: Failure | undefined): string | undefined => failure?.error.code;
const rpcCodeOf = (failure: Failure | components['schemas']['RpcFailure'] | undefined): string | undefined =>
  failure && 'data' in failure.error ? failure.error.data.code : undefined;
const oauthCodeOf = (failure: Failure | { error: string } | undefined): string | undefined =>
  typeof failure?.error === 'string' ? failure.error : failure?.error.code;

export async function callAll() {
  const client = createClient<paths>();
  const codes: (string | undefined)[] = [];
${calls.join('\n')}
  return codes;
}
`;
}

/** What the compiler says of programs; nothing when they are right. It reads the types of the client once for all of them. */
export async function typeErrors(folder: string, names: readonly string[] = ['use-hub.ts']): Promise<string> {
  const options =
    '--ignoreConfig --noEmit --strict --target es2024 --module nodenext --allowImportingTsExtensions --skipLibCheck --types node'.split(
      ' ',
    );
  try {
    await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...names.map((name) => join(folder, name))], {
      cwd: folder,
      timeout: 60_000,
    });
    return '';
  } catch (thrown) {
    return String(typeof thrown === 'object' && thrown !== null && 'stdout' in thrown ? thrown.stdout : thrown);
  }
}
