import { describe, expect, test } from 'vitest';
import { CONNECTORS_SECTION, type ConnectorsConfig } from '../../src/connectors/connectors-config.ts';
import { parseCheckedYaml } from '../../src/core/config/checked-yaml.ts';
import { camelKeys, section } from '../../src/core/config/config-section.ts';

const FILE = section({ connectors: CONNECTORS_SECTION });

function settings(connectors: object): ConnectorsConfig {
  const file = parseCheckedYaml(JSON.stringify({ connectors }), 'config.yaml', FILE) as { readonly connectors: unknown };
  return camelKeys(file.connectors, CONNECTORS_SECTION) as ConnectorsConfig;
}

test('absent parts are not configured, and the bounds of storage have defaults', () => {
  const { web, search, files, databases, storage } = settings({});
  expect(web).toEqual({ enabled: true, allowedHosts: [] });
  expect([search, files, databases]).toEqual([undefined, undefined, undefined]);
  expect(storage).toEqual({ maxKeys: 500, maxBytes: 262_144 });
  expect(settings({ web: { enabled: false } }).web).toEqual({ enabled: false, allowedHosts: [] });
});

test('names that the owner chose stay as they are', () => {
  const { files, databases } = settings({
    files: { roots: { my_notes: { path: '/srv/notes' } } },
    databases: { my_house: { postgres: { database: 'house', user: 'reader' }, timeout_seconds: 5 } },
  });
  expect(files).toEqual({ roots: { my_notes: { path: '/srv/notes', writable: false } } });
  expect(databases).toEqual({
    my_house: {
      postgres: { host: 'localhost', port: 5_432, database: 'house', user: 'reader', tls: false },
      writable: false,
      timeoutSeconds: 5,
    },
  });
});

describe('CONFIG_INVALID is', () => {
  test.each([
    ['a host with a path', { web: { allowed_hosts: ['nas.lan/x'] } }],
    ['a search without address', { search: {} }],
    ['a secret in the file', { search: { url: 'http://x', token: 'hush' } }],
    ['folders without any', { files: { roots: {} } }],
    ['a folder from nowhere', { files: { roots: { notes: { path: 'notes' } } } }],
    ['a folder called as all together', { files: { roots: { roots: { path: '/srv' } } } }],
    ['a folder with a slash in its name', { files: { roots: { 'a/b': { path: '/srv' } } } }],
    ['a database of no kind', { databases: { x: { writable: true } } }],
    ['a database of two kinds', { databases: { x: { sqlite: '/x', postgres: { database: 'x', user: 'x' } } } }],
    ['a password in the file', { databases: { x: { postgres: { database: 'x', user: 'x', password: 'hush' } } } }],
    ['no time at all', { databases: { x: { sqlite: '/x', timeout_seconds: 0 } } }],
    ['a relay that is a page', { atmosphere: { relay: 'https://relay.lan', mesh_id: 'm' } }],
    ['a relay with a password', { atmosphere: { relay: 'wss://anna:hush@relay.lan', mesh_id: 'm' } }],
    ['a relay without a mesh', { atmosphere: { relay: 'wss://relay.lan' } }],
    ['a token in the file', { atmosphere: { relay: 'wss://relay.lan', mesh_id: 'm', token: '{}' } }],
    ['a tool without a namespace', { atmosphere: { relay: 'wss://relay.lan', mesh_id: 'm', announce: ['*'] } }],
    ['storage without bounds', { storage: { max_bytes: 10_000_000 } }],
  ])('%s', (_, connectors) => {
    expect(() => settings(connectors)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });
});
