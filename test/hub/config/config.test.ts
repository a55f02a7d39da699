import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig, missingPaths } from '../../../src/hub/config/config.ts';
import { memoryProfile } from '../../../src/hub/config/memory-profile.ts';
import { GOSSIP_LIMITS } from '../../../src/mesh/gossip/gossip-limits.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'config-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const withFile = (text: string) => {
  const file = join(dir, 'config.yaml');
  writeFileSync(file, text);
  return () => loadConfig({}, dir);
};

describe('configuration', () => {
  test('defaults bind to loopback and ask about attestation', () => {
    const config = loadConfig({}, dir);
    expect(config.http).toEqual({ host: '127.0.0.1', port: 8081, isOAuthEnabled: true, tls: { names: [] } });
    expect(config.matter).toMatchObject({ isEnabled: true, attestation: 'ask', isBleEnabled: false });
  });

  test('the memory profile sets the defaults of what takes memory, and what the file says wins', () => {
    expect(loadConfig({}, dir)).toMatchObject({
      memory: { name: 'normal', nodeFlags: [] },
      tools: { maxConcurrent: 256, maxQueued: 1024, maxConcurrentPerCaller: 64 },
      mesh: { maxPeers: 64, limits: GOSSIP_LIMITS },
    });
    const small = withFile('memory: small\ntools: { max_queued: 7 }\n')();
    expect(small.memory).toEqual(memoryProfile('small'));
    expect(small.tools).toMatchObject({ maxConcurrent: 32, maxQueued: 7, maxConcurrentPerCaller: 16 });
    expect(small.mesh).toMatchObject({ maxPeers: 16, limits: memoryProfile('small').mesh.limits });
    expect(withFile('memory: tiny\n')).toThrow('memory');
  });

  test('ATMO_MEMORY wins over the file', () => {
    writeFileSync(join(dir, 'config.yaml'), 'memory: normal\n');
    expect(loadConfig({ ATMO_MEMORY: 'small' }, dir).memory.name).toBe('small');
    expect(loadConfig({ ATMO_MEMORY: '' }, dir).memory.name).toBe('normal');
    expect(() => loadConfig({ ATMO_MEMORY: 'tiny' }, dir)).toThrow('ATMO_MEMORY is "tiny"; it must be one of normal, small');
  });

  test('an environment variable wins over the file', () => {
    writeFileSync(join(dir, 'config.yaml'), 'http:\n  port: 9000\n');
    expect(loadConfig({}, dir).http.port).toBe(9000);
    expect(loadConfig({ ATMO_HTTP_PORT: '9001' }, dir).http.port).toBe(9001);
  });

  test.each([
    ['http.proxy_url', 'http:\n  proxy_url: https://hub.example.org:65536\n', 2],
    ['updates.version_url', 'updates:\n  version_url: https://example.org:99999/version.json\n', 2],
    [
      'http.tls.acme.directory',
      'http:\n  tls:\n    acme:\n      names: [hub.example.org]\n      agree_to_terms: true\n      dns_command: [dns]\n      directory: https://ca:70000/d\n',
      7,
    ],
    ['connectors.mqtt.url', 'connectors:\n  mqtt:\n    url: mqtt://broker:65536\n', 3],
  ])('%s with a port that no machine has is named with its line', (key, text, line) => {
    expect(withFile(text)).toThrow(`line ${line}: ${key} is not a valid address; check its host, and its port, which is at most 65535`);
  });

  test('one network interface for Matter may be named, in the file or by variable', () => {
    expect(loadConfig({}, dir).matter.interface).toBeUndefined();
    expect(withFile('matter:\n  interface: eth1\n')().matter.interface).toBe('eth1');
    expect(loadConfig({ ATMO_MATTER_INTERFACE: 'wlan0' }, dir).matter.interface).toBe('wlan0');
  });

  test('the owner may say whether the machine has a GPU; else the hub looks itself', () => {
    expect(loadConfig({}, dir).capabilities.gpu).toBeUndefined();
    expect(withFile('capabilities:\n  gpu: true\n')().capabilities.gpu).toBe(true);
    expect(withFile('capabilities: { gpu: false }\n')().capabilities.gpu).toBe(false);
    expect(withFile('capabilities: { warp: true }\n')).toThrow('warp');
  });

  test('bounds and switches of the tools reach the hub as they are written', () => {
    const { tools } = withFile(
      'tools:\n  disabled: [echo]\n  fail_over: [fetch_url]\n  default_timeout_ms: 7\n  max_concurrent: 3\n  max_calls_per_session: 9\n  dynamic_registration: false\n  invalid_results: warn\n  max_params_bytes: 99\n  undescribed_parameters: refuse\n  log_calls: false\n',
    )();
    expect(tools).toMatchObject({
      disabled: ['echo'],
      failOver: ['fetch_url'],
      defaultTimeoutMs: 7,
      maxConcurrent: 3,
      maxCallsPerSession: 9,
    });
    expect(tools).toMatchObject({ isDynamicRegistrationAllowed: false, logsCalls: false });
    expect(tools).toMatchObject({ resultInvalid: 'warn', maxParamsBytes: 99, refusesUndescribed: true });
    expect(loadConfig({ ATMO_CONFIG: '' }, join(dir, 'elsewhere')).tools).toMatchObject({
      isDynamicRegistrationAllowed: true,
      failOver: ['fetch_url', 'http_get', 'fetch', 'html_scraper'],
    });
  });

  test('what registered tools may need comes from ALLOWED_TOOL_PERMS, else from the file; tools to start with from the state directory', () => {
    writeFileSync(join(dir, 'config.yaml'), 'tools:\n  allowed_permissions: ["device:control:*"]\n');
    expect(loadConfig({}, dir).tools).toMatchObject({
      allowedPermissions: ['device:control:*'],
      bootstrapFiles: [join(dir, 'tools_bootstrap.json'), join(dir, 'config/tools_bootstrap.json')],
    });
    expect(loadConfig({ ALLOWED_TOOL_PERMS: ' net:read, sensor:* ,' }, dir).tools.allowedPermissions).toEqual(['net:read', 'sensor:*']);
    expect(loadConfig({ ALLOWED_TOOL_PERMS: ' ' }, dir).tools.allowedPermissions).toEqual(['device:control:*']);
    expect(() => loadConfig({ ALLOWED_TOOL_PERMS: 'everything' }, dir)).toThrow('ALLOWED_TOOL_PERMS holds "everything"');
    rmSync(join(dir, 'config.yaml'));
    expect(loadConfig({}, dir).tools.allowedPermissions).toBeUndefined();
    expect(withFile('tools:\n  allowed_permissions: [all]')).toThrow('tools.allowed_permissions holds "all"');
    expect(withFile('tools:\n  bootstrap: /etc/tools.json')().tools.bootstrapFiles).toEqual(['/etc/tools.json']);
  });

  test('a certificate comes from files or from an authority, and the terms of the authority have to be agreed to', () => {
    const acme = 'acme: { names: [hub.example.org], agree_to_terms: true, dns_command: [/etc/dns], ca_file: root.pem }';
    expect(withFile(`http: { tls: { ${acme} } }\n`)().http.tls.acme).toEqual({
      names: ['hub.example.org'],
      directory: 'https://acme-v02.api.letsencrypt.org/directory',
      agreeToTerms: true,
      dnsCommand: ['/etc/dns'],
      dnsWaitSeconds: 60,
      caFile: join(dir, 'root.pem'),
    });
    expect(withFile(`http: { tls: { certificate_file: a, key_file: b, ${acme} } }\n`)).toThrow('exclude each other');
    expect(withFile(`http: { tls: { ${acme.replace('agree_to_terms: true, ', '')} } }\n`)).toThrow('agree_to_terms');
    for (const name of ['192.0.2.7', 'HUB.example.org', '*.example.org', 'hub']) {
      expect(withFile(`http: { tls: { ${acme.replace('hub.example.org', JSON.stringify(name))} } }\n`)).toThrow('names');
    }
  });

  test('files that it names are meant from its own folder, and those that are not there are told by their keys', () => {
    const config = withFile(
      'rules: house.yaml\nprofiles: /own\ntools: { manifest: tools/mine.yaml }\nhttp: { tls: { certificate_file: a, key_file: b } }\n',
    )();
    expect(config).toMatchObject({
      rulesFile: join(dir, 'house.yaml'),
      profilesDir: '/own',
      tools: { manifestFile: join(dir, 'tools/mine.yaml') },
    });
    expect(config.http.tls.files).toEqual({ certificateFile: join(dir, 'a'), keyFile: join(dir, 'b') });
    for (const file of ['house.yaml', 'a', 'b']) writeFileSync(join(dir, file), '');
    expect(missingPaths(config)).toEqual([
      'profiles in the configuration names /own, which does not exist',
      `tools.manifest in the configuration names ${join(dir, 'tools/mine.yaml')}, which does not exist`,
    ]);
    expect(missingPaths(withFile('log: info\n')())).toEqual([]);
  });

  test('a misspelt key is refused with file and line', () => {
    expect(withFile('log: info\nmatter:\n  enabld: false\n')).toThrow(/config\.yaml, line 3: unknown key "enabld" in matter/);
  });

  test('a value of the wrong kind is refused with what is allowed', () => {
    expect(withFile('matter:\n  attestation: maybe\n')).toThrow(/line 2: matter.attestation must be one of strict, ask, off/);
    expect(withFile('http:\n  port: 70000\n')).toThrow(/line 2: http.port must be <= 65535/);
  });

  test('broken YAML, a missing file and a bad variable are each named', () => {
    expect(withFile('http: [1\n')).toThrow(/config\.yaml, line \d/);
    withFile('{}\n');
    expect(() => loadConfig({ ATMO_CONFIG: join(dir, 'none.yaml') }, dir)).toThrow(/does not exist/);
    expect(() => loadConfig({ ATMO_CONFIG: dir }, dir)).toThrow(/cannot be read \(EISDIR\)/);
    expect(() => loadConfig({ ATMO_HTTP_PORT: 'x' }, dir)).toThrow(/ATMO_HTTP_PORT is "x"; it must be a port/);
    expect(() => loadConfig({ ATMO_LOG: 'loud' }, dir)).toThrow(/ATMO_LOG is "loud"/);
  });
});
