import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatToolName, MODEL_NAME_LIMIT, modelNames, parseToolName, toolId } from '../../../src/tools/definition/tool-names.ts';

const namespace = fc.stringMatching(/^[a-z][a-z0-9-]{0,31}$/);
const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,127}$/);
const version = fc.constantFrom('1.0.0', '0.2.1-rc.1', '^1.2.0', '>=1.0.0 <2', '1.x');

describe('tool names', () => {
  test('the three forms of the source are taken apart', () => {
    expect(parseToolName('notify')).toEqual({ name: 'notify' });
    expect(parseToolName('matter:turn_on_light')).toEqual({ namespace: 'matter', name: 'turn_on_light' });
    expect(parseToolName('custom:my_analyzer@1.2.0')).toEqual({ namespace: 'custom', name: 'my_analyzer', version: '1.2.0' });
  });

  test('formatting and parsing are each other’s reverse', () => {
    const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
    fc.assert(
      fc.property(optional(namespace), name, optional(version), (ns, bare, range) => {
        const reference = { ...(ns !== undefined && { namespace: ns }), name: bare, ...(range !== undefined && { version: range }) };
        expect(parseToolName(formatToolName(reference))).toEqual(reference);
      }),
    );
  });

  test('no text makes the parser throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[a-z:@.*^ -]{0,20}$/)), (text) => {
        const reference = parseToolName(text);
        if (reference) expect(parseToolName(formatToolName(reference))).toEqual(reference);
      }),
    );
  });

  test.each(['', ':x', 'Matter:x', 'm_x:y', '1x', 'x@', 'x@one', 'a:b:c', 'x y', `n${'a'.repeat(128)}`])('%j is no tool name', (text) => {
    expect(parseToolName(text)).toBeUndefined();
  });

  test('an id needs an exact version', () => {
    expect(toolId({ namespace: 'core', name: 'echo', version: '1.0.0' })).toBe('core:echo@1.0.0');
    expect(() => toolId({ namespace: 'core', name: 'echo', version: '^1.0.0' })).toThrow(/not a semantic version/);
  });
});

describe('model-facing names', () => {
  const tools = fc.uniqueArray(
    fc.tuple(namespace, name).map(([ns, bare]) => `${ns}:${bare}`),
    { maxLength: 30 },
  );

  test('are short, plain, unique and do not depend on the order of the tools', () => {
    fc.assert(
      fc.property(tools, (list) => {
        const names = modelNames(list);
        expect(new Set(names.values()).size).toBe(list.length);
        for (const modelName of names.values()) expect(modelName).toMatch(/^[a-z0-9_]{1,40}$/);
        expect(new Map([...names].sort())).toEqual(new Map([...modelNames(list.toReversed())].sort()));
      }),
    );
  });

  test('are plain without a clash; on a clash core keeps the plain one', () => {
    expect([...modelNames(['matter:kitchen_light_on']).values()]).toEqual(['kitchen_light_on']);
    const names = modelNames(['core:notify', 'custom:notify']);
    expect(names.get('core:notify')).toBe('notify');
    expect(names.get('custom:notify')).toMatch(/^notify_[0-9a-f]{6}$/);
  });

  test('a name that is too long is cut and marked with a hash', () => {
    const long = modelNames([`matter:${'very_'.repeat(10)}long`])
      .values()
      .next().value;
    expect(long).toHaveLength(MODEL_NAME_LIMIT);
    expect(long).toMatch(/^very_very_.*_[0-9a-f]{6}$/);
  });
});
