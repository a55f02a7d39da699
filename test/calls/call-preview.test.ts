import { expect, test } from 'vitest';
import { type CallPreviewPorts, previewCalls, previewRisk } from '../../src/calls/call-preview.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { listAuthorizer, makeTool, owner } from './pipeline-fixture.ts';

/** Tools `level0` to `level4`, each of which calls the one below it as often as is said, and how many of them were looked up. */
function levels(steps: number) {
  let lookedUp = 0;
  const tools = Array.from({ length: 5 }, (_, level) => ({
    ...makeTool({ name: `level${level}` }),
    ...(level > 0 && { innerCalls: () => Array.from({ length: steps }, () => ({ tool: `level${level - 1}`, params: {} })) }),
  }));
  const ports: CallPreviewPorts = {
    validator: new SchemaValidator(),
    authorizer: listAuthorizer,
    registry: {
      resolve: (name) => {
        lookedUp += 1;
        return tools.find(({ definition }) => definition.name === name) ?? expect.unreachable(name);
      },
    },
  };
  return { ports, lookedUp: () => lookedUp };
}

const preview = (level: number) => ({ tool: `level${level}`, params: {}, viewer: owner });

test('a preview of composed tools ends at the first call that is too much', () => {
  const { ports, lookedUp } = levels(16);
  expect(() => previewCalls(ports, preview(4))).toThrow(AtmoError);
  expect(() => previewCalls(ports, preview(4))).toThrow(/level4 would call level3: .* would make more than 256 calls/);
  expect(lookedUp()).toBe(2 * 257);
});

test('a preview has a call with up to 256 calls inside it, in their order', () => {
  const { ports } = levels(16);
  expect(previewCalls(ports, preview(1))).toHaveLength(17);
  expect(previewCalls(levels(256).ports, preview(1))).toHaveLength(257);
  expect(() => previewCalls(levels(257).ports, preview(1))).toThrow('level1 would make more than 256 calls');
  expect(previewCalls(levels(1).ports, preview(2)).map(({ toolId }) => toolId)).toEqual(
    [2, 1, 0].map((level) => `core:level${level}@1.0.0`),
  );
});

test('more calls than are previewed count as dangerous, and are not looked up', () => {
  const { ports, lookedUp } = levels(16);
  expect(previewRisk(ports, preview(1))).toBe('none');
  expect(lookedUp()).toBe(17);
  expect(previewRisk(ports, preview(4))).toBe('dangerous');
  expect(lookedUp()).toBe(17 + 257);
});
