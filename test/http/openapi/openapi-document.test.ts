import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, test } from 'vitest';
import { registrationTools } from '../../../src/calls/builtin/registration-tools.ts';
import { processorMs } from '../../processor-time.ts';
import { AGENT_TOKEN, ask, makeHttpApi } from '../http-fixture.ts';

const ACTING = { execution: { side_effects: true }, permissions: ['device:control:{device_id}'] };
const PARAMETERS = {
  type: 'object',
  required: ['device_id'],
  properties: {
    device_id: { type: 'string', description: 'Device' },
    level: { type: 'integer', minimum: 0, maximum: 100, description: 'Level', 'x-unit': '%' },
  },
};

function makeHub() {
  const setup = makeHttpApi();
  const nobody = async () => ({ registered: [], known: [], waiting: [], leftOut: [], board: [] });
  const registrar = {
    register: () => {
      throw new Error();
    },
    remove: () => {
      throw new Error();
    },
    record: () => undefined,
  };
  for (const tool of registrationTools({ registrar, discover: nobody, obstacleTo: (tool) => setup.pipeline.obstacleTo(tool) }))
    setup.registry.register(tool);
  const examples = [{ description: 'half', params: { device_id: 'lamp', level: 50 } }];
  const returns = { type: 'object', properties: { level: { type: 'integer' } } };
  setup.addTool({
    ...ACTING,
    name: 'dim',
    namespace: 'matter',
    description: 'Dims.',
    parameters: PARAMETERS,
    returns,
    metadata: { examples },
  });
  return setup;
}

/** Rules of the recommended set that do not fit, and why. */
const OFF = {
  // `/tools/{id}/invoke` and `/tools/discover` are told apart by their methods and by the colon in every id.
  'no-ambiguous-paths': 'off',
} as const;

async function lint(document: unknown): Promise<readonly string[]> {
  const config = await createConfig({ extends: ['recommended'], rules: OFF });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`);
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters: readonly { readonly name?: string; readonly $ref?: string }[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>;
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

function operationsOf({ paths }: { readonly paths: Paths }): readonly Operation[] {
  return Object.values(paths).flatMap((methods) => Object.values(methods));
}

describe('GET /openapi.json', () => {
  test.each(['/openapi.json', '/openapi.json?tools=true'])('%s is clean by the recommended rules of Redocly', async (path) => {
    const { httpApi } = makeHub();
    const { status, json } = await ask(httpApi, path);
    expect(status).toBe(200);
    expect(await lint(json)).toEqual([]);
  });

  test('names every operation once, with a tag, headers, schemas of answers and refusals', async () => {
    const { httpApi } = makeHub();
    const { json } = await ask(httpApi, '/openapi.json');
    const operations = operationsOf(json);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    // The names of functions of a client, none of them spelled out of a path.
    for (const { operationId } of operations) expect(operationId).toMatch(/^[a-z]+[A-Z][A-Za-z]+$/);
    expect(operations.map(({ operationId }) => operationId).filter((name) => /^(post|delete|put)|By[A-Z]/.test(name))).toEqual([]);
    expect(operations.map(({ operationId }) => operationId)).toEqual(
      expect.arrayContaining(['listTools', 'invokeTool', 'getReadings', 'listMonitorTools', 'removeTool']),
    );
    const tags = json.tags.map(({ name }: { name: string }) => name);
    for (const { tags: own } of operations) expect(tags).toEqual(expect.arrayContaining([...own]));
    const invoke: Operation = json.paths['/api/v1/tools/{id}/invoke'].post;
    expect(invoke.parameters.map(({ name, $ref }) => name ?? $ref?.split('/').at(-1))).toEqual(
      expect.arrayContaining(['id', 'async', 'idempotencyKey', 'traceparent', 'callerScopes']),
    );
    expect(Object.keys(invoke.responses[200]?.content ?? {})).toEqual(['application/json', 'text/event-stream', 'application/x-ndjson']);
    expect(Object.keys(invoke.responses)).toEqual(expect.arrayContaining(['202', '400', '401', '403', '404', '413', '429', 'default']));
    expect(Object.keys(json.paths['/ca.crt'].get.responses[200].content)).toEqual(['application/x-x509-ca-cert']);
    expect(json.paths['/healthz'].get.security).toEqual([]);
  });

  test('a route that is a call of a tool has the schemas of the tool, without what only the hub reads', async () => {
    const { httpApi } = makeHub();
    const { json } = await ask(httpApi, '/openapi.json');
    const remove = json.paths['/api/v1/tools/{id}'].delete;
    expect(remove.responses[200].content['application/json'].schema.required).toEqual(['removed']);
    expect(Object.keys(remove.responses[202].content)).toEqual(['application/problem+json']);
    expect(JSON.stringify(json)).not.toContain('"x-');
    const { exec } = json.paths['/api/v1/tools'].post.requestBody.content['application/json'].schema.properties;
    expect(exec.description).toMatch(/it runs in the sandbox.* NOT_CONFIGURED while/);
  });

  test('has a path for each tool of the caller where that is asked for, and for no other', async () => {
    const { httpApi } = makeHub();
    expect(Object.keys((await ask(httpApi, '/openapi.json')).json.paths)).not.toContain('/api/v1/tools/matter:dim@1.0.0/invoke');
    const { json } = await ask(httpApi, '/openapi.json?tools=true');
    const { post } = json.paths['/api/v1/tools/matter:dim@1.0.0/invoke'];
    expect(post.requestBody.content['application/json']).toMatchObject({
      schema: { required: ['device_id'], properties: { level: { maximum: 100 } } },
      examples: { example1: { summary: 'half', value: { device_id: 'lamp', level: 50 } } },
    });
    expect(post.responses[200].content['application/json'].schema.allOf[1].properties.result.properties.level).toEqual({ type: 'integer' });
    const { json: ofAgent } = await ask(httpApi, '/openapi.json?tools=true', { token: AGENT_TOKEN });
    expect(JSON.stringify(ofAgent)).not.toContain('matter:dim');
  });

  test('with 2,000 tools is as long as without them, or made in time with them', async () => {
    const { httpApi, addTool } = makeHub();
    const before = (await ask(httpApi, '/openapi.json')).text.length;
    for (let number = 0; number < 2_000; number++) addTool({ ...ACTING, name: `dim_${number}`, parameters: PARAMETERS });
    const plain = await ask(httpApi, '/openapi.json');
    expect(plain.text.length).toBe(before);
    expect(before).toBeLessThan(200_000);
    let length = 0;
    const workMs = await processorMs(async () => {
      length = (await ask(httpApi, '/openapi.json?tools=true')).text.length;
    });
    expect(workMs).toBeLessThan(2_000);
    expect(length).toBeLessThan(6_000_000);
  });
});
