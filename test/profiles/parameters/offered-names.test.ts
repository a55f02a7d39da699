import { describe, expect, test } from 'vitest';
import type { Json, JsonSchema } from '../../../src/core/json.ts';
import { compiledIn, described, toolOf } from '../device-fixtures.ts';
import { FakeHome } from '../fake-home.ts';

function parameter(type: string, action: string, told: Readonly<Record<string, Json>>): JsonSchema {
  const description = described(type, { hasAllElements: true, clusters: type === 'LaundryWasher' ? ['LaundryWasherControls'] : [] });
  const home = new FakeHome(description);
  for (const [path, value] of Object.entries(told)) {
    const [cluster = '', attribute = ''] = path.split('.');
    home.report({ device: description.device.id, endpoint: 1, cluster, attribute }, value);
  }
  const { properties } = toolOf(compiledIn(home, description), action).parameters as { properties: Record<string, JsonSchema> };
  return Object.values(properties)[0] ?? expect.unreachable();
}

describe('names that a device says it has', () => {
  test('a list leaves only what is in it', () => {
    expect(parameter('LaundryWasher', 'set_rinses', {})).toMatchObject({ enum: ['none', 'normal', 'extra', 'max'] });
    const told = { 'LaundryWasherControls.SupportedRinses': ['Normal', 'Extra'] };
    expect(parameter('LaundryWasher', 'set_rinses', told)).toMatchObject({ enum: ['normal', 'extra'] });
  });

  test('flags leave only those that are set', () => {
    const told = { 'FanControl.RockSupport': { rockLeftRight: true, rockUpDown: false, rockRound: false } };
    expect(parameter('Fan', 'set_rocking', told)).toMatchObject({ type: 'array', items: { enum: ['rock_left_right'] } });
  });

  test('a device that says it has nothing keeps all names, and refuses by itself', () => {
    const told = { 'LaundryWasherControls.SupportedRinses': [] };
    expect(parameter('LaundryWasher', 'set_rinses', told)).toMatchObject({ enum: ['none', 'normal', 'extra', 'max'] });
  });
});
