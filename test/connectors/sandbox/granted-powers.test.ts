import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { GrantedPowers } from '../../../src/connectors/sandbox/granted-powers.ts';
import type { PowerConfig } from '../../../src/connectors/sandbox/sandbox-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'powers-'));
const stateDir = join(folder, 'hub/state');
mkdirSync(join(stateDir, 'matter'), { recursive: true });
mkdirSync(join(folder, 'photos'));
symlinkSync(stateDir, join(folder, 'harmless'));
afterAll(() => rmSync(folder, { recursive: true }));

const NONE: PowerConfig = { network: false, read: [], write: [], env: {} };
const powersOf = (powers: Record<string, Partial<PowerConfig>>) => {
  const whole = Object.fromEntries(Object.entries(powers).map(([name, power]) => [name, { ...NONE, ...power }]));
  return new GrantedPowers(whole, { stateDir, env: { KEY: 'tulip' } });
};

describe('the powers that the owner gives to programs', () => {
  test.each([
    ['the state directory itself', 'hub/state'],
    ['a part of it', 'hub/state/matter'],
    ['a folder around it', 'hub'],
    ['a link to it', 'harmless'],
  ])('hold no folder that is %s, to read or to write', (_, path) => {
    for (const power of [{ read: [join(folder, path)] }, { write: [join(folder, path)] }])
      expect(() => powersOf({ album: power })).toThrow(/connectors\.sandbox\.powers\.album names .* state directory/);
  });

  test('are those that are named, together, and no others', () => {
    const photos = join(folder, 'photos');
    const powers = powersOf({
      web: { network: true, env: { TOKEN: 'env:KEY' } },
      album: { write: [photos] },
      other: { read: [folder + 2] },
    });
    expect(powers.combined([])).toEqual({ hasNetwork: false, read: [], write: [], env: {} });
    expect(powers.combined(['web', 'album'])).toEqual({ hasNetwork: true, read: [], write: [photos], env: { TOKEN: 'tulip' } });
    expect(() => powers.combined(['album', 'cellar'])).toThrow('There is no power cellar');
  });

  test('act where they reach the network or write', () => {
    const powers = powersOf({
      web: { network: true },
      album: { write: [join(folder, 'photos')] },
      look: { read: [join(folder, 'photos')] },
    });
    expect(['web', 'album', 'look', 'cellar'].map((name) => powers.power(name)?.isActing)).toEqual([true, true, false, undefined]);
  });

  test('are described in words, with a version of each file among the arguments that changes with its content', () => {
    const script = join(folder, 'photos/run.sh');
    writeFileSync(script, 'echo one');
    const powers = powersOf({ web: { network: true, env: { TOKEN: 'env:KEY' } }, album: { write: [join(folder, 'photos')] } });
    const look = () =>
      powers.inspect(
        { program: '/usr/bin/sh', args: ['--file=run.sh', 'x'], powers: ['web', 'album'], cwd: join(folder, 'photos') },
        '/tmp',
      );
    const before = look();
    expect(before.powers).toEqual([
      { name: 'web', allows: ['use the network', 'know the variable TOKEN'] },
      { name: 'album', allows: [`write ${join(folder, 'photos')}`] },
    ]);
    expect(look()).toEqual(before);
    writeFileSync(script, 'echo two');
    expect(look().versions).not.toEqual(before.versions);
    expect(JSON.stringify(before)).not.toContain('tulip');
  });

  test('are no way round: code does not lie where a program that sees it would see the state directory', () => {
    const powers = powersOf({});
    expect(() => powers.requireCodeOutsideState([join(folder, 'photos'), join(folder, 'hub')])).toThrow(
      'holds the state directory of the hub',
    );
    expect(() => powers.requireCodeOutsideState([join(folder, 'photos')])).not.toThrow();
  });
});
