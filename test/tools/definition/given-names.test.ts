import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { givenName } from '../../../src/core/untrusted-text.ts';
import { GIVEN_NAME } from '../../../src/tools/definition/define-tool.ts';
import type { CallerRights } from '../../../src/tools/definition/tool-definition.ts';
import { isSchemaObject, visitSchema } from '../../../src/tools/schema/schema-walk.ts';
import { anything, ownTools } from '../../own-tools.ts';

/** A parameter that is called like this, or described like this, holds a name. */
const NAME = /^(name|label|title|alias|aliases|area|room|floor|nickname)$/;
const TOLD = /name for people|what (you|people) call|another name/i;
/** Parameters that look up something by a name that it has, by tool. */
const LOOKED_UP = new Set([
  ...['convert_automation name', 'list_sensors area', 'list_device_names name', 'free_device_name name', 'free_area_name name'],
  ...['describe_area area', 'list_devices_to_share area', 'share_devices area', 'rename_area area', 'remove_credentials name'],
]);
/** Not kept as they are seen, but refused where they hold what nobody sees. */
const REFUSED = new Set([
  'spawn_agent name',
  'check_automation name',
  'add_person name',
  'change_person name',
  'remove_person name',
  'invite_person name',
]);

const propertiesOf = (tool: string) => {
  const found = ownTools.find(({ definition }) => definition.name === tool);
  return (found?.definition.parameters.properties ?? {}) as Readonly<Record<string, { readonly type?: string; readonly pattern?: string }>>;
};

interface NameParameter {
  readonly place: string;
  readonly isGiven: boolean;
}

const parameters: readonly NameParameter[] = ownTools.flatMap(({ definition }) => {
  const found: NameParameter[] = [];
  visitSchema(definition.parameters, ({ properties }) => {
    if (!isSchemaObject(properties)) return;
    for (const [name, schema] of Object.entries(properties)) {
      if (!isSchemaObject(schema)) continue;
      const text = schema.type === 'array' && isSchemaObject(schema.items) ? schema.items : schema;
      const isName = text.type === 'string' && !text.enum && (NAME.test(name) || TOLD.test(String(text.description)));
      if (isName) found.push({ place: `${definition.name} ${name}`, isGiven: text[GIVEN_NAME] === true });
    }
  });
  return found;
});

describe('a name that somebody gives', () => {
  test.each([
    ['Kit\u200bchen', 'Kitchen'],
    ['Kitchen\u{e0041}\u{e0042}', 'Kitchen'],
    ['Kit\ufe0fchen', 'Kitchen'],
    ['\u202eKitchen\u2066', 'Kitchen'],
    ['Kit\u034fch\u115fen', 'Kitchen'],
    ['  Living\n\troom ', 'Living room'],
    ['Cafe\u0301', 'Café'],
    ['\u200b\u{e0041}', ''],
  ])('is kept as it is seen: %j is %j', (given, kept) => {
    expect(givenName(given)).toBe(kept);
  });

  test('is marked as one in every tool, unless something is looked up by it', () => {
    const unmarked = parameters.filter(({ place, isGiven }) => !isGiven && !LOOKED_UP.has(place) && !REFUSED.has(place));
    expect(unmarked).toEqual([]);
    const given = parameters.filter(({ isGiven }) => isGiven).map(({ place }) => place);
    expect(given).toEqual(expect.arrayContaining(['rename_area name', 'rename_device name', 'create_group name', 'enroll_approver label']));
  });

  const given = parameters.filter(({ isGiven }) => isGiven).map(({ place }) => place.split(' ') as [string, string]);

  test.each(given)('loses in %s %s what nobody sees, and has to hold something else', (tool, name) => {
    const { canonicalize } = ownTools.find(({ definition }) => definition.name === tool) ?? {};
    const schema = propertiesOf(tool)[name];
    const called = (text: string): JsonObject => {
      const value = schema?.type === 'array' ? [text] : text;
      return { device_id: 'lamp', aliases: [], members: [], ...{ [name]: value } };
    };
    const kept = canonicalize?.(called('Kit\u200bchen\u{e0041}'), anything as CallerRights) ?? {};
    expect([kept[name]].flat()).toEqual(['Kitchen']);
    const nothing = { code: 'VALIDATION_ERROR', message: expect.stringContaining('no character that anybody sees') };
    expect(() => canonicalize?.(called('\u200b\u200b'), anything as CallerRights)).toThrow(expect.objectContaining(nothing));
  });

  test('is refused as the name of an agent where it holds what nobody sees', () => {
    const { name } = propertiesOf('spawn_agent');
    expect(new RegExp(name?.pattern ?? '', 'u').test('Kit\u200bchen')).toBe(false);
  });
});
