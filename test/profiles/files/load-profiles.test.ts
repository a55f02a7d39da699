import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compileDevice } from '../../../src/profiles/compile/compile-device.ts';
import { loadProfiles, profileFilesOf, readProfileDirectory, readProfileSchemas } from '../../../src/profiles/files/load-profiles.ts';
import { RECIPES } from '../../../src/profiles/recipes/recipes.ts';
import { CONVERTERS } from '../../../src/profiles/values/converters.ts';
import { takenInMemory } from '../../taken-texts.ts';
import { described, PROFILE_DIRECTORY, toolOf } from '../device-fixtures.ts';

describe("the owner's own profiles", () => {
  let own = '';

  beforeEach(() => {
    [stale, taken] = [[], takenInMemory()];
    own = mkdtempSync(join(tmpdir(), 'own-profiles-'));
    mkdirSync(join(own, 'devices'));
  });
  afterEach(() => rmSync(own, { recursive: true }));

  let stale: string[] = [];
  let taken = takenInMemory();
  const ownIn = (path: string) => ({ path, takenOf: taken, onStale: (faults: readonly string[]) => void stale.push(...faults) });
  const save = (name: string, content: unknown) =>
    writeFileSync(join(own, 'devices', name), typeof content === 'string' ? content : JSON.stringify(content));
  const gate = {
    title: 'My gate',
    noun: 'gate',
    match: { vendorId: 0xfff1, productId: 0x8000 },
    capabilities: ['on-off'],
    overrides: { turn_on: { risk: 'dangerous' } },
  };

  test('are added to ours', () => {
    save('my-gate.json', gate);
    const profiles = loadProfiles(PROFILE_DIRECTORY, { own: ownIn(own) });
    const compiled = compileDevice(described('OnOffPlugInUnit'), profiles);
    expect(compiled.noun).toBe('gate');
    expect(toolOf(compiled, 'turn_on').risk).toBe('dangerous');
  });

  test('replace ours of the same file name', () => {
    save('fan.json', { title: 'Fan', noun: 'ventilator', match: { deviceType: 'Fan' }, capabilities: ['fan'] });
    expect(compileDevice(described('Fan'), loadProfiles(PROFILE_DIRECTORY, { own: ownIn(own) })).noun).toBe('ventilator');
  });

  test('with a mistake are refused with file and fix', () => {
    save('my-gate.json', { ...gate, capabilties: [] });
    expect(() => loadProfiles(PROFILE_DIRECTORY, { own: ownIn(own) })).toThrow(/my-gate\.json.*capabilties.*spelling/);
    save('my-gate.json', '{ "title": ');
    expect(() => loadProfiles(PROFILE_DIRECTORY, { own: ownIn(own) })).toThrow(/my-gate\.json cannot be read as JSON/);
  });

  test('stay in force with their risks when a file is missing, and the fault is reported', () => {
    save('my-gate.json', gate);
    loadProfiles(PROFILE_DIRECTORY, { own: ownIn(own) });
    rmSync(own, { recursive: true });
    const compiled = compileDevice(described('OnOffPlugInUnit'), loadProfiles(PROFILE_DIRECTORY, { own: ownIn(own) }));
    expect(toolOf(compiled, 'turn_on').risk).toBe('dangerous');
    expect(stale).toEqual([expect.stringMatching(/devices\/my-gate\.json is gone; to be without it, write "null" into it/)]);
    mkdirSync(join(own, 'devices'), { recursive: true });
  });

  test('need not exist', () => {
    expect(loadProfiles(PROFILE_DIRECTORY, { own: ownIn(join(own, 'nowhere')) }).devices().length).toBeGreaterThan(50);
  });

  test('go on top of bundled files as well', () => {
    save('my-gate.json', gate);
    const bundled = profileFilesOf(readProfileDirectory(PROFILE_DIRECTORY));
    expect(
      loadProfiles(PROFILE_DIRECTORY, { own: ownIn(own), bundled })
        .devices()
        .map((device) => device.id),
    ).toContain('my-gate');
  });
});

test('the schema lists exactly the converters and recipes that exist', () => {
  const { $defs } = readProfileSchemas(PROFILE_DIRECTORY).capability as {
    $defs: Record<string, { properties: Record<string, { enum: string[] }> }>;
  };
  expect($defs.value?.properties.convert?.enum.toSorted()).toEqual(Object.keys(CONVERTERS).sort());
  expect($defs.tool?.properties.recipe?.enum.toSorted()).toEqual(Object.keys(RECIPES).sort());
});
