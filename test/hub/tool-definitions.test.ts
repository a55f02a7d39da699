import { afterAll, beforeAll, expect, test } from 'vitest';
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { visitSchema } from '../../src/tools/schema/schema-walk.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryNetwork } from '../mesh/memory-network.ts';
import { WholeHub } from './whole-hub.ts';

type ListedTool = JsonObject & {
  readonly id: string;
  readonly parameters: JsonObject;
  readonly returns: JsonObject;
  readonly metadata: { readonly examples?: readonly { readonly params: JsonObject }[] };
};

const clock = new ManualClock(Date.now());
const hub = new WholeHub({ clock, network: new MemoryNetwork({ clock }), rules: 'rules: []\n' });
const tools: ListedTool[] = [];

beforeAll(async () => {
  await hub.hub.start();
  for (let cursor: string | undefined = '0'; cursor !== undefined; ) {
    const page = await hub.ask(`/api/v1/tools?limit=100&cursor=${cursor}`);
    tools.push(...page.tools);
    cursor = page.next_cursor;
  }
});
afterAll(() => hub[Symbol.asyncDispose]());

/** What a check finds in the tools of the hub itself, of which there are many. */
function mistakesIn(check: (tool: ListedTool) => readonly string[]): readonly string[] {
  expect(tools.length).toBeGreaterThan(100);
  return tools.flatMap((tool) => check(tool).map((mistake) => `${tool.id} ${mistake}`));
}

test('no text of a tool is empty, but for what a parameter is when it is absent', () => {
  const emptyTexts = (value: Json, at: string): readonly string[] => {
    if (value === '') return at.endsWith('/default') ? [] : [at];
    return Object.entries(isJsonObject(value) || Array.isArray(value) ? value : {}).flatMap(([key, part]) =>
      emptyTexts(part as Json, `${at}/${key}`),
    );
  };
  expect(mistakesIn((tool) => emptyTexts(tool, ''))).toEqual([]);
});

test('every schema of a tool can be compiled', () => {
  const problems = (schema: JsonObject) => {
    try {
      new SchemaValidator().compile({ ...schema });
      return [];
    } catch (thrown) {
      return [String(thrown)];
    }
  };
  expect(mistakesIn(({ parameters, returns }) => [parameters, returns].flatMap(problems))).toEqual([]);
});

test('every tool takes its own examples', () => {
  const refusals = ({ parameters, metadata }: ListedTool) =>
    (metadata.examples ?? []).filter(({ params }) => !new SchemaValidator().check(parameters, params).isValid);
  expect(mistakesIn((tool) => refusals(tool).map(({ params }) => JSON.stringify(params)))).toEqual([]);
});

test('a member that a tool always returns is in its schema, and each member there has a type or says what it is', () => {
  const mistakes = mistakesIn(({ returns }) => {
    const found: string[] = [];
    visitSchema(returns, (part, pointer) => {
      const members = isJsonObject(part.properties) ? part.properties : {};
      const required = Array.isArray(part.required) ? part.required : [];
      found.push(...required.filter((name) => !(String(name) in members)).map((name) => `${pointer} lacks ${name}`));
      const says = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'description'].some((keyword) => keyword in part);
      if (!says && pointer !== '') found.push(`${pointer} says nothing`);
    });
    return found;
  });
  expect(mistakes).toEqual([]);
});
