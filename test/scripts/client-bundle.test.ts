import { describe, expect, test } from 'vitest';
import { bundleManifest, serverDocument } from '../../scripts/package/client-bundle.ts';
import { zipArchive } from '../../scripts/package/zip-archive.ts';
import { isJsonObject, type Json, type JsonObject, objectOf, objectsOf, textsOf } from '../../src/core/json.ts';
import { filesIn } from './zip-reader.ts';

const VERSION = '1.2.3';
const manifest = bundleManifest(VERSION) as JsonObject;
const PUBLICATION = { name: 'org.example/atmosphere-edge', url: 'https://downloads.example.org/atmosphere-edge-client-1.2.3.mcpb' };
const document = serverDocument(PUBLICATION, { version: VERSION, sha256: 'a'.repeat(64) }) as unknown as JsonObject;

/** The fields of a manifest 0.3 with their types, as far as ours has them; an unknown field is refused by hosts. */
const FIELDS: Readonly<Record<string, string>> = {
  manifest_version: 'string',
  name: 'string',
  display_name: 'string',
  version: 'string',
  description: 'string',
  long_description: 'string',
  author: 'object',
  icon: 'string',
  server: 'object',
  tools_generated: 'boolean',
  prompts_generated: 'boolean',
  keywords: 'object',
  license: 'string',
  compatibility: 'object',
  user_config: 'object',
};
const OPTION_FIELDS = ['type', 'title', 'description', 'required', 'default', 'sensitive'];

function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe('the manifest of the bundle', () => {
  const server = objectOf(manifest.server);
  const options = objectOf(manifest.user_config);

  test('has the fields of manifest 0.3, each of its type', () => {
    const wrong = Object.entries(manifest).filter(([name, value]) => typeof value !== FIELDS[name]);
    expect(wrong).toEqual([]);
    expect(manifest).toMatchObject({ manifest_version: '0.3', version: VERSION, author: { name: expect.any(String) } });
    expect(Object.keys(server)).toEqual(['type', 'entry_point', 'mcp_config']);
    expect(Object.keys(objectOf(server.mcp_config))).toEqual(['command', 'args', 'env']);
  });

  test('asks for settings of known types, and marks secrets', () => {
    for (const [name, option] of Object.entries(options)) {
      if (!isJsonObject(option)) throw new TypeError(name);
      expect([name, Object.keys(option).filter((field) => !OPTION_FIELDS.includes(field))]).toEqual([name, []]);
      expect([name, typeof option.title, typeof option.description, option.type]).toEqual([name, 'string', 'string', 'string']);
      // Without a default, a host passes on the name of the setting itself where its user leaves it empty.
      expect([name, option.required === true || option.default !== undefined]).toEqual([name, true]);
    }
    const secrets = Object.entries(options).filter(([, option]) => objectOf(option).sensitive === true);
    expect(secrets.map(([name]) => name)).toEqual(['invitation', 'token']);
  });

  test('passes each setting to atmo, and nothing else', () => {
    const used = textsIn(server.mcp_config).flatMap((text) => [...text.matchAll(/\$\{([^}]+)\}/g)].map(([, name]) => name));
    const known = Object.keys(options).map((name) => `user_config.${name}`);
    expect(used.toSorted()).toEqual(['__dirname', ...known].toSorted());
    expect(textsOf(objectOf(server.mcp_config).args)).toEqual([`\${__dirname}/${server.entry_point}`, 'mcp']);
  });
});

describe('the document for registries', () => {
  const [entry = {}] = objectsOf(document.packages);

  test('names the bundle with its checksum, and the variables that the bundle sets', () => {
    expect(document).toMatchObject({ name: PUBLICATION.name, version: VERSION, $schema: expect.stringContaining('/2025-12-11/') });
    expect(String(document.description).length).toBeLessThanOrEqual(100);
    expect(entry).toMatchObject({ registryType: 'mcpb', identifier: PUBLICATION.url, fileSha256: expect.stringMatching(/^[a-f0-9]{64}$/) });
    const variables = objectsOf(entry.environmentVariables).map(({ name }) => name);
    expect(variables).toEqual(Object.keys(objectOf(objectOf(objectOf(manifest.server).mcp_config).env)));
  });

  test.each([
    ['atmosphere-edge', PUBLICATION.url],
    ['org.example/a/b', PUBLICATION.url],
    [PUBLICATION.name, 'http://downloads.example.org/a.mcpb'],
    [PUBLICATION.name, 'https://downloads.example.org/a.tgz'],
  ])('is not made for %s at %s', (name, url) => {
    expect(() => serverDocument({ name, url }, { version: VERSION, sha256: '' })).toThrow(
      expect.objectContaining({ code: 'VALIDATION_ERROR' }),
    );
  });
});

describe('a zip archive', () => {
  const FILES = [
    { path: 'manifest.json', bytes: Buffer.from('{}') },
    { path: 'server/ätmo.mjs', bytes: Buffer.from('run\n'.repeat(1_000)), isExecutable: true },
  ] as const;

  test('holds each file with its mode, and is the same for the same files', () => {
    const archive = zipArchive(FILES);
    expect(filesIn(archive)).toEqual(
      new Map([
        ['manifest.json', { text: '{}', mode: 0o644 }],
        ['server/ätmo.mjs', { text: 'run\n'.repeat(1_000), mode: 0o755 }],
      ]),
    );
    expect(zipArchive(FILES).equals(archive)).toBe(true);
  });
});
