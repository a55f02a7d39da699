import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bundle, ROOT } from '../../../scripts/bundle.ts';

const release = mkdtempSync(join(tmpdir(), 'atmo-release-'));
const sources = join(ROOT, '.run', `bundle-${process.pid}`);
afterAll(() => {
  rmSync(release, { recursive: true });
  rmSync(sources, { recursive: true });
});

/** As the package has it beside the bundle. */
function placeNativeModule(): void {
  for (const name of ['koffi', '@koromix'])
    cpSync(join(ROOT, 'node_modules', name), join(release, 'node_modules', name), { recursive: true });
}

/** Loads files one after the other and prints why those did not load that did not. */
const LOADER = `
const failures = [];
for (const file of process.argv.slice(1)) await import(file).catch((error) => failures.push(file + ': ' + error.message));
process.stdout.write(JSON.stringify(failures), () => process.exit());
`;

/** Packages that the hub loads on demand and that are in its bundle; the page has one of its own. */
function packagesOnDemand(): readonly string[] {
  const files = globSync('src/**/*.ts', { cwd: ROOT, exclude: ['src/web/**'] }).map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const loaded = files.flatMap((text) => [...text.matchAll(/(?<!typeof )\bimport\('([^']+)'\)/g)].map(([, name = '']) => name));
  return [...new Set(loaded)].filter((name) => !/^(\.|node:|koffi$)/.test(name)).sort();
}

/** Uses each of them once, as the hub does; where a server would be, nobody answers. */
const USES = `
import { qrBlock } from '../../src/cli/terminal/blocks.ts';
import { PostgresDatabase } from '../../src/connectors/databases/postgres-database.ts';
import { openSocket } from '../../src/connectors/atmosphere/relay-connection.ts';
import { composeMail, sendOverSmtp } from '../../src/connectors/messages/smtp-mailer.ts';
import { BrokerConnection } from '../../src/connectors/mqtt/broker-connection.ts';
import { connectNats } from '../../src/connectors/nats/nats-publisher.ts';
import { WebPush } from '../../src/connectors/push/web-push.ts';
import { connectRedis } from '../../src/connectors/redis/redis-mirror.ts';
import { ScriptWorkerPool } from '../../src/connectors/sandbox/script-worker-pool.ts';
import { pageElements } from '../../src/connectors/web/html-scraper.ts';

const signal = AbortSignal.timeout(20_000);
const nobody = { host: '127.0.0.1', port: 1 };
const mail = { to: ['anna@example.org'], cc: [], bcc: [], subject: 'x', body: 'Inhalt', isHtml: false, attachments: [] };
const head = { from: { name: '', address: 'hub@example.org' }, messageId: '<1@example.org>', date: new Date(0) };
const letter = { from: 'hub@example.org', to: mail.to, bytes: Buffer.from('x') };
const script = { kind: 'js', code: Buffer.from('export const execute = ({ a }) => a * 2'), params: { a: 21 }, config: null };
const downOf = (open, target) =>
  new Promise((resolve, reject) => open(target, { onReady: () => {}, onDown: resolve }).catch(reject));
const logger = { info: () => {}, warn: () => {}, error: () => {} };
const broker = new BrokerConnection(logger, { url: 'mqtt://127.0.0.1:1', clientId: 'x' });
/** Sends a push message to a browser, and answers with the coding of what was sent. */
const pushed = async () => {
  const { createECDH } = await import('node:crypto');
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  const publicKey = pair.getPublicKey('base64url');
  const kept = new Map();
  const store = { get: (_, id) => kept.get(id), set: (_, id, value) => kept.set(id, value), entries: () => [...kept].map(([key, value]) => ({ key, value })) };
  let sent;
  const fetch = async (request) => {
    sent = request.headers['content-encoding'];
    return { status: 201, body: new Uint8Array() };
  };
  const key = { publicKey, privateKey: Buffer.alloc(32, 1).toString('base64url') };
  const people = { find: (name) => ({ name }), signIns: () => [] };
  const push = new WebPush({ clock: { now: Date.now }, logger, store, fetch, key, people, pageUrl: () => '' }, { allowedHosts: [] });
  const { id } = push.add({ person: 'ann', signIn: undefined }, { endpoint: 'https://example.org/1', p256dh: publicKey, auth: Buffer.alloc(16).toString('base64url') }, '');
  await push.send('push:' + id, { id: 'ab', recipient: 'ann', message: 'x', urgency: 'high', untilMs: Date.now() + 1000 }, signal);
  return sent;
};
const used = {
  'web-push': pushed,
  'qr': async () => (await qrBlock('x')).render({}).includes('\\n'),
  'pg': () => new PostgresDatabase({ server: nobody, isWritable: false, timeoutMs: 1000 }).query({ text: 'SELECT 1', params: [], maxRows: 1, signal }),
  'nodemailer/lib/mail-composer': async () => (await composeMail(mail, head)).toString().includes('Inhalt'),
  'nodemailer/lib/smtp-connection': () => sendOverSmtp({ ...nobody, security: 'none' }, letter, signal),
  'mqtt': () => broker.deliver('a', 'b', signal),
  '@nats-io/transport-node': () => downOf(connectNats, { servers: ['nats://127.0.0.1:1'], name: 'x' }),
  'ws': () => new Promise((onClose) => openSocket('ws://127.0.0.1:1', { onOpen() {}, onText() {}, onClose })),
  '@redis/client': () => downOf(connectRedis, { url: 'redis://127.0.0.1:1' }),
  'quickjs-emscripten-core': () =>
    new ScriptWorkerPool({ clock: { after: () => () => {} } }).run({ ...script, maxMemoryBytes: 8_388_608, signal }),
  'htmlparser2': () => pageElements('<p class="a">x</p>', { selectors: ['.a'], maxItems: 1, signal }),
};
const found = {};
for (const [name, use] of Object.entries(used)) {
  found[name] = await use().catch((error) => error.code ?? String(error));
}
process.stdout.write(JSON.stringify(found), () => process.exit());
`;

const ENTRY = `
import { readFileSync } from 'node:fs';
class Named {}
const { load } = await import('koffi');
const text = readFileSync(new URL('data.json', import.meta.url), 'utf8');
const signs = [/^[’–]+$/.test('’'), new RegExp(String.raw\`^[’–]+$\`).test('–'), '°C', \`\${1} µm\`, '💡'];
console.log(JSON.stringify({ text, className: Named.name, native: typeof load, signs }));
`;

test('a bundle runs in another place, finds its data and native module there, and keeps class names and every sign in one byte', async () => {
  mkdirSync(sources, { recursive: true });
  writeFileSync(join(sources, 'entry.ts'), ENTRY);
  await bundle({ entry: join(sources, 'entry.ts'), outDir: join(release, 'dist'), name: 'program' });
  const dataDir = join(release, relative(ROOT, sources));
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, 'data.json'), 'found');
  placeNativeModule();

  const program = join(release, 'dist/program.mjs');
  expect(readFileSync(program, 'utf8')).toMatch(/^\p{ASCII}*$/u);
  const output = execFileSync(process.execPath, [program], { encoding: 'utf8' });
  const signs = [true, true, '°C', '1 µm', '\u{1f4a1}'];
  expect(JSON.parse(output)).toEqual({ text: 'found', className: 'Named', native: 'function', signs });
});

test('every part of the hub that is loaded on demand loads in another place, with what is beside the bundle alone', {
  timeout: 120_000,
}, async () => {
  await bundle({ entry: 'src/main.ts', outDir: join(release, 'dist'), name: 'atmo' });
  placeNativeModule();
  const chunks = readdirSync(join(release, 'dist')).filter((file) => file.startsWith('chunk-') && file.endsWith('.mjs'));
  expect(chunks.length).toBeGreaterThan(20);
  const paths = chunks.map((file) => join(release, 'dist', file));
  const failures = execFileSync(process.execPath, ['--input-type=module', '--eval', LOADER, ...paths], { encoding: 'utf8', cwd: release });
  expect(JSON.parse(failures)).toEqual([]);
  // The hub's settings of matter.js come before matter.js reads them, which a chunk of their own would not be.
  const ofMatter = paths.map((path) => readFileSync(path, 'utf8')).find((text) => /defaultDriver ?= ?"file"/.test(text)) ?? '';
  expect(ofMatter.indexOf('storageDriver="sqlite"')).toBeGreaterThan(0);
  expect(ofMatter.indexOf('storageDriver="sqlite"')).toBeLessThan(ofMatter.search(/defaultDriver ?= ?"file"/));
});

test('every package that is loaded on demand works in the bundle, with the names that the hub takes from it', {
  timeout: 120_000,
}, async () => {
  mkdirSync(sources, { recursive: true });
  writeFileSync(join(sources, 'uses.ts'), USES);
  await bundle({ entry: join(sources, 'uses.ts'), outDir: join(release, 'uses'), name: 'uses' });
  placeNativeModule();
  const found = JSON.parse(execFileSync(process.execPath, [join(release, 'uses/uses.mjs')], { encoding: 'utf8', cwd: release }));
  expect(found).toEqual({
    qr: true,
    pg: 'SERVICE_UNAVAILABLE',
    'nodemailer/lib/mail-composer': true,
    'nodemailer/lib/smtp-connection': 'SERVICE_UNAVAILABLE',
    mqtt: 'SERVICE_UNAVAILABLE',
    '@nats-io/transport-node': expect.stringContaining('refused'),
    ws: expect.stringContaining('ECONNREFUSED'),
    '@redis/client': expect.stringContaining('ECONNREFUSED'),
    'quickjs-emscripten-core': 42,
    'web-push': 'aes128gcm',
    htmlparser2: [expect.objectContaining({ tag: 'p', text: 'x' })],
  });
  // Scripts and selectors take two packages each.
  const companions = ['@jitl/quickjs-singlefile-mjs-release-sync', 'css-select'];
  expect([...Object.keys(found), ...companions].sort()).toEqual(packagesOnDemand());
});
