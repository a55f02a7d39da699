import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { RunningHub } from './running-hub.ts';

interface ListedTool {
  readonly id: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly returns: JsonObject;
  readonly metadata: { readonly examples?: readonly { readonly params: JsonObject }[] };
}

const stateDir = mkdtempSync(join(tmpdir(), 'definitions-'));
const validator = new SchemaValidator();
let hub: RunningHub;
let tools: readonly ListedTool[];

beforeAll(async () => {
  // With Matter, so that the tools for devices and the fabric are there, and with none that a device brings.
  hub = await RunningHub.start({ stateDir, config: { matter: { enabled: true } } });
  tools = await allTools();
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  rmSync(stateDir, { recursive: true });
});

/**
 * A start takes what this program wrote itself as it is: a schema that no validator compiles and an example that its own tool
 * refuses would first be seen by an agent.
 */
describe('every tool that a hub brings along', () => {
  test('is listed, with examples in more than a few', () => {
    expect(tools.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['hub:mint_token@1.0.0', 'core:query_sensor@1.0.0', 'hub:commission_device@1.0.0']),
    );
    expect(tools.filter(({ metadata }) => (metadata.examples ?? []).length > 0).length).toBeGreaterThan(20);
  });

  test('has schemas that can be compiled', () => {
    const broken = tools.flatMap(({ id, parameters, returns }) => [parameters, returns].flatMap((schema) => problemOf(id, schema)));
    expect(broken).toEqual([]);
  });

  test('accepts its own examples', () => {
    const refused = tools.flatMap(({ id, parameters, metadata }) =>
      (metadata.examples ?? []).flatMap(({ params }) => {
        const checked = validator.check({ ...parameters }, params);
        return checked.isValid ? [] : [`${id} ${JSON.stringify(params)}: ${checked.problems[0]?.message}`];
      }),
    );
    expect(refused).toEqual([]);
  });

  test('says what it does in words of its own', () => {
    expect(tools.filter(({ description }) => description.trim() === '').map(({ id }) => id)).toEqual([]);
    expect(new Set(tools.map(({ description }) => description)).size).toBe(tools.length);
  });
});

/** A copy counts as a schema from outside: it is held against the rules for those. */
function problemOf(id: string, schema: JsonObject): readonly string[] {
  try {
    validator.compile({ ...schema });
    return [];
  } catch (error) {
    return [`${id}: ${String(error)}`];
  }
}

async function allTools(): Promise<readonly ListedTool[]> {
  const listed: ListedTool[] = [];
  for (let cursor: Json | undefined = '0'; cursor !== undefined; ) {
    const page: Json = await hub.get(`/api/v1/tools?limit=100&cursor=${String(cursor)}`);
    if (!isJsonObject(page)) throw new Error(`not a page of tools: ${JSON.stringify(page)}`);
    listed.push(...(page.tools as unknown as readonly ListedTool[]));
    cursor = page.next_cursor;
  }
  return listed;
}
