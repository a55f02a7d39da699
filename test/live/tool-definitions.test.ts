import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts';
import { portableSchema } from '../../src/tools/formats/model-schemas.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { answerMistakes, schemaMistakes } from '../tools/formats/model-rules.ts';
import { RunningHub } from './running-hub.ts';

interface ListedTool {
  readonly id: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly returns: JsonObject;
  readonly metadata: { readonly examples?: readonly { readonly params: JsonObject }[] };
}

/** A tool in one of the forms of model APIs. */
interface Exported {
  readonly name?: string;
  readonly function?: { readonly name: string; readonly parameters: JsonObject };
  readonly input_schema?: JsonObject;
  readonly inputSchema?: JsonObject;
  readonly outputSchema?: JsonObject;
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

  test.each(['openai', 'anthropic', 'mcp'])(
    'breaks no rule of a model server in the form of %s, with a name of its own',
    async (format) => {
      const exported = (await pagesOf(`&format=${format}`)) as unknown as readonly Exported[];
      expect(exported.length).toBeGreaterThan(50);
      const names = exported.map((tool) => tool.function?.name ?? tool.name);
      expect(new Set(names).size).toBe(names.length);
      const mistakes = exported.flatMap((tool, index) => {
        const input = tool.function?.parameters ?? tool.input_schema ?? tool.inputSchema ?? {};
        return [...schemaMistakes(input), ...answerMistakes(tool.outputSchema ?? {})].map((mistake) => `${names[index]} ${mistake}`);
      });
      expect(mistakes).toEqual([]);
    },
  );

  // What the owner has not configured is in no list of those.
  test('breaks no rule of a model server, configured or not', () => {
    const mistakes = tools.flatMap(({ id, parameters, returns }) =>
      [...schemaMistakes(portableSchema(parameters, 'input')), ...answerMistakes(portableSchema(returns, 'output'))].map(
        (mistake) => `${id} ${mistake}`,
      ),
    );
    expect(mistakes).toEqual([]);
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
  return (await pagesOf('')) as unknown as readonly ListedTool[];
}

async function pagesOf(query: string): Promise<readonly Json[]> {
  const listed: Json[] = [];
  for (let cursor: Json | undefined = '0'; cursor !== undefined; ) {
    const page: Json = await hub.get(`/api/v1/tools?limit=100&cursor=${String(cursor)}${query}`);
    if (!isJsonObject(page)) throw new Error(`not a page of tools: ${JSON.stringify(page)}`);
    listed.push(...(page.tools as readonly Json[]));
    cursor = page.next_cursor;
  }
  return listed;
}
