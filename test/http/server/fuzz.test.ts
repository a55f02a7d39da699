import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { HOST, makeDevice, makeHttpApi, makeReading, TOKEN } from '../http-fixture.ts';

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly body?: Schema;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly $ref?: string;
}

const ANSWER_LIMIT_MS = 5_000;
/** Answers that no caller's input may bring about. A hub without mesh, people or devices may well say 501 to 504. */
const BUGS = new Set([500, 502, 507]);

const setup = makeHttpApi();
let operations: readonly Operation[] = [];

beforeAll(async () => {
  setup.directory.devices = [makeDevice('lamp'), makeDevice('lock', { name: '<b>lock</b>\u202e' })];
  setup.readings.readings = [makeReading('lamp/power', 3, 1_000)];
  setup.addTool({ name: 'typed', parameters: { type: 'object', properties: { level: { type: 'integer' } }, required: ['level'] } });
  const document = (await (await send('GET', '/openapi.json', {})).json()) as { paths: Record<string, Record<string, never>> };
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(method, path, operation)),
  );
});

function operationOf(
  method: string,
  path: string,
  operation: { parameters?: Operation['parameters']; requestBody?: { content?: Record<string, { schema?: Schema }> } },
): Operation {
  const body = operation.requestBody?.content?.['application/json']?.schema;
  return { method: method.toUpperCase(), path, parameters: operation.parameters ?? [], ...(body && { body }) };
}

async function send(method: string, path: string, init: { headers?: Record<string, string>; body?: string }): Promise<Response> {
  const abort = new AbortController();
  const request = setup.httpApi.app.request(`http://${HOST}${path}`, {
    method,
    signal: abort.signal,
    ...(init.body !== undefined && { body: init.body }),
    headers: { host: HOST, authorization: `Bearer ${TOKEN}`, ...init.headers },
  });
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error(`${method} ${path} did not answer`)), ANSWER_LIMIT_MS).unref();
  });
  const response = await Promise.race([request, late]);
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) await response.body?.cancel();
  return response;
}

const odd = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    '',
    '..',
    '%00',
    '__proto__',
    'constructor',
    'toString',
    "' OR 1=1",
    '\u202e',
    'NaN',
    '-1',
    '1e999',
    '9'.repeat(400),
    '*',
    '{}',
    '[]',
  ),
);
const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), odd, fc.constantFrom({ __proto__: 1 }, { constructor: {} }, 1e308, -0));

function valueFor(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  if (depth > 3) return anything;
  const right = rightFor(schema, depth);
  return fc.oneof({ weight: 4, arbitrary: right }, { weight: 1, arbitrary: anything });
}

function rightFor(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  if (type === 'integer' || type === 'number')
    return fc.integer({ min: schema.minimum ?? -5, max: Math.max(schema.minimum ?? -5, schema.maximum ?? 1_000) });
  if (type === 'boolean') return fc.boolean();
  if (type === 'array') return fc.array(valueFor(schema.items ?? {}, depth + 1), { maxLength: 4 });
  if (type === 'object') {
    const members = Object.entries(schema.properties ?? {}).map(([name, member]) => [name, valueFor(member, depth + 1)] as const);
    return fc.record(Object.fromEntries(members), { requiredKeys: [] });
  }
  return type === 'string' ? odd : anything;
}

function requestFor(operation: Operation) {
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const known = fc.constantFrom('lamp', 'lamp/power', 'core:typed@1.0.0', 'typed', 'hub-1');
  return fc.record({
    path: fc.record(Object.fromEntries(inPath.map((name) => [name, fc.oneof(known, odd)]))),
    query: fc.record(
      Object.fromEntries(
        operation.parameters.filter(({ in: where }) => where === 'query').map(({ name, schema }) => [name, valueFor(schema ?? {})]),
      ),
      { requiredKeys: [] },
    ),
    stray: fc.option(fc.tuple(odd, odd), { freq: 8 }),
    body: operation.body
      ? fc.option(fc.oneof({ weight: 5, arbitrary: valueFor(operation.body) }, { weight: 1, arbitrary: odd }), { nil: undefined })
      : fc.constant(undefined),
    headers: fc.record(
      {
        accept: fc.constantFrom('*/*', 'text/html', 'application/json', ';;q=', ','),
        'content-type': fc.constantFrom('application/json', 'text/plain', 'application/json; charset=utf-16', 'x'),
        'idempotency-key': fc.constantFrom('k', 'a b', 'x'.repeat(300)),
        'x-timeout-ms': fc.constantFrom('1', '0', '-1', '1e3', 'x', '999999999999'),
        'last-event-id': fc.constantFrom('x', '', '0'),
        'if-none-match': fc.constantFrom('*', '"x"', 'W/'),
        traceparent: fc.constantFrom('00-x', ''),
        'accept-encoding': fc.constantFrom('br', 'gzip;q=0', ',;'),
        'x-caller-scopes': fc.constantFrom('read_registry,invoke_tool', ''),
        'mcp-session-id': fc.constantFrom('x', '__proto__'),
      },
      { requiredKeys: [] },
    ),
  });
}

describe('requests that are made from our own description, right and wrong', () => {
  test('are all answered, and none as a bug of the hub', async () => {
    expect(operations.length).toBeGreaterThan(40);
    const failures: string[] = [];
    for (const operation of operations) {
      const samples = fc.sample(requestFor(operation), { numRuns: 12, seed: 7 });
      for (const { path, query, stray, body, headers } of samples) {
        const filled = operation.path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(String(path[name] ?? '')));
        const search = new URLSearchParams(Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])));
        if (stray) search.append(stray[0], stray[1]);
        const target = search.size === 0 ? filled : `${filled}?${search}`;
        const text = body === undefined || operation.method === 'GET' ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
        const type = text === undefined ? {} : { 'content-type': 'application/json' };
        const response = await send(operation.method, target, {
          headers: { ...type, ...headers },
          ...(text !== undefined && { body: text }),
        });
        if (BUGS.has(response.status))
          failures.push(`${operation.method} ${target} ${text ?? ''}: ${response.status} ${await response.text()}`);
      }
    }
    expect(failures).toEqual([]);
    expect(setup.logged.filter((line) => line.includes('http.request_failed'))).toEqual([]);
  });

  test('every answer that refuses is a problem with a code of the table', async () => {
    for (const operation of operations.filter(({ method }) => method !== 'GET').slice(0, 20)) {
      const path = operation.path.replace(/\{\w+\}/g, 'x');
      const response = await send(operation.method, path, { headers: { 'content-type': 'text/html' }, body: '<p>' });
      if (response.status < 400) continue;
      expect([path, response.status, response.headers.get('content-type')]).toEqual([
        path,
        expect.any(Number),
        expect.stringMatching(/^application\/(problem\+)?json/),
      ]);
    }
  });
});
