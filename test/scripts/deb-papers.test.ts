import { beforeAll, describe, expect, test } from 'vitest';
import { debianArchitecture, THIS_ARCHITECTURE } from '../../scripts/package/debian-architecture.ts';
import { licenceOf, licenceTexts, type SoftwareBill, softwareBill } from '../../scripts/package/software-bill.ts';

const TIME = new Date('2026-03-01T00:00:00Z');
let bill: SoftwareBill;

describe('what the package tells of others', () => {
  beforeAll(async () => {
    bill = await softwareBill(debianArchitecture(THIS_ARCHITECTURE), TIME);
  });

  const names = () => bill.components.map(({ name }) => name);

  test('names what runs and what that needs, and nothing of the workshop', () => {
    expect(names()).toEqual(expect.arrayContaining(['@matter/main', 'hono', 'ajv', 'yaml', 'koffi', 'pg', 'pg-protocol']));
    expect(names().filter((name) => ['vitest', 'esbuild', '@biomejs/biome', 'typescript', 'smtp-server'].includes(name))).toEqual([]);
  });

  test('has the Node and the native part of that machine alone', () => {
    const machine = names().filter((name) => /^node-linux|^@koromix/.test(name));
    const { nodePackage, koffiPackage } = debianArchitecture(THIS_ARCHITECTURE);
    expect(machine.sort()).toEqual([koffiPackage, nodePackage].sort());
  });

  test('is the same tomorrow', () => {
    expect(bill.serialNumber).toBeUndefined();
    expect(bill.metadata).toMatchObject({ timestamp: TIME.toISOString(), component: { name: 'atmosphere-edge' } });
  });

  test('states a licence for each, and none that forbids to pass it on', async () => {
    expect(bill.components.filter((component) => licenceOf(component) === 'not stated').map(({ name }) => name)).toEqual([]);
    expect(bill.components.filter((component) => /GPL|SSPL|BUSL|UNLICENSED/.test(licenceOf(component))).map(({ name }) => name)).toEqual(
      [],
    );
    const texts = await licenceTexts(bill);
    expect(texts).toMatch(/^suncalc \S+: BSD-2-Clause$/m);
    expect(texts).toContain('Redistributions in binary form must reproduce the above copyright notice');
    expect(texts).toMatch(/^hono \S+: MIT$/m);
    expect(texts).toContain('Permission is hereby granted');
    expect(texts).toContain('Node.js is licensed for use as follows');
  });
});

test('a machine without a package is refused by name', () => {
  expect(() => debianArchitecture('armhf')).toThrow('There is no package for armhf; allowed: amd64, arm64');
});
