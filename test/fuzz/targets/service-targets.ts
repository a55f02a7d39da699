// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a text of a shell
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readRegistration } from '../../../src/auth/approvals/passkey.ts';
import { AuthorizationQuery } from '../../../src/auth/oauth/authorization-request.ts';
import { parseRefreshToken, refreshTokenText } from '../../../src/auth/oauth/grant-store.ts';
import { clientOf } from '../../../src/auth/oauth/oauth-client.ts';
import { matchesRedirectUri, redirectHost, requireRedirectUri } from '../../../src/auth/oauth/redirect-uri.ts';
import { parseToolCall } from '../../../src/calls/formats/model-calls.ts';
import { encodeCbor } from '../../../src/codec/cbor.ts';
import { SseParser } from '../../../src/codec/sse-parser.ts';
import { ChatStream } from '../../../src/connectors/models/chat-completion.ts';
import { imageFinding } from '../../../src/connectors/models/vision-tools.ts';
import { parseCommandLine } from '../../../src/connectors/sandbox/named-commands.ts';
import { parseShell } from '../../../src/connectors/sandbox/shell-parser.ts';
import { hostEntry, isPublicAddress } from '../../../src/connectors/web/address-policy.ts';
import { pageElements } from '../../../src/connectors/web/html-scraper.ts';
import { pageText } from '../../../src/connectors/web/page-text.ts';
import { parseGrant, parsePermission } from '../../../src/core/auth/permission.ts';
import { isJsonObject } from '../../../src/core/json.ts';
import { givenName, isVisible, plain, terminalText, visibleLine, visibleText } from '../../../src/core/untrusted-text.ts';
import { proxiedSource, refuseAbsolute, refuseAddressing, sourceOf } from '../../../src/http/server/addresses.ts';
import { field, parseQuery } from '../../../src/http/server/query.ts';
import { readBody } from '../../../src/http/server/request-body.ts';
import { makeAuthority, nameScopeOf, namesIn } from '../../../src/http/tls/x509.ts';
import { listPage } from '../../../src/mcp/pagination.ts';
import { parseHomeUri } from '../../../src/mcp/resources/resource-source.ts';
import { readRemoteDefinition } from '../../../src/mesh/gossip/definition-store.ts';
import { parseToolName } from '../../../src/tools/definition/tool-names.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { parseQuery as parseSearch } from '../../../src/tools/search/query.ts';
import { parseValues } from '../../../src/tools/search/query-needs.ts';
import { notificationOf } from '../../../src/web/worker/push-message.ts';
import { bytesTarget, jsonTarget, requireSame, type Target, textTarget } from '../target.ts';

/** A stream means the same however it is cut. */
function checkSse(text: string): void {
  const whole = new SseParser().push(text);
  const parser = new SseParser();
  const cut = [];
  for (let at = 0; at < text.length; at += 3) cut.push(...parser.push(text.slice(at, at + 3)));
  requireSame(cut, whole, 'a stream in pieces has the same messages');
}

function checkChat(input: Uint8Array): void {
  const stream = new ChatStream({ name: 'test' } as never);
  stream.take(input.subarray(0, input.length / 2));
  stream.take(input.subarray(input.length / 2));
  stream.answer();
}

const QUERY = {
  from: field.time('From'),
  limit: field.integer('Limit', 1, 100),
  every: field.duration('Every'),
  live: field.flag('Live'),
  by: field.choice('By', ['a', 'b']),
  text: field.text('Text'),
};
const NOW_MS = 1_767_225_600_000;

async function checkBody(text: string): Promise<void> {
  const [takes, ...lines] = text.split('\n');
  const isForm = takes === 'form';
  const headers = { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' };
  const request = new Request('http://127.0.0.1/', { method: 'POST', headers, body: lines.join('\n') });
  await readBody(request, { requestId: 'r', takes: isForm ? 'form' : 'object-or-list' });
}

const LISTENER = { scheme: 'https', port: 8443, isOwnName: (name: string) => name === 'hub.local' } as const;

function checkAddressing(text: string): void {
  const [host, origin, target, forwarded] = text.split('\n');
  refuseAddressing({ host, origin, isForwarded: false }, LISTENER);
  refuseAbsolute(target, host);
  proxiedSource(forwarded ?? null);
  sourceOf(forwarded);
}

/** A certificate of its own, made anew with each start, whose bytes are changed. */
const CERTIFICATE = makeAuthority('Test', ['local', '10.0.0.0/8', 'fc00::/7'], { fromMs: NOW_MS, untilMs: NOW_MS + 86_400_000 });

function checkCertificate(input: Uint8Array): void {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(input);
  } catch {
    return;
  }
  nameScopeOf(certificate);
  namesIn(certificate);
}

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const { x = '', y = '' } = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })).export({ format: 'jwk' });
const base64url = (text: string | Uint8Array): string => Buffer.from(text).toString('base64url');
const COSE_KEY = encodeCbor(
  new Map<number, number | Uint8Array>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Uint8Array.from(Buffer.from(x, 'base64url'))],
    [-3, Uint8Array.from(Buffer.from(y, 'base64url'))],
  ]),
);
const RP_ID_HASH = Uint8Array.from(Buffer.from('49960de5880e8c687434170f6476605b8fe4aeb9a28632c7995cf3ba831d9763', 'hex'));
const AUTHENTICATOR_DATA = Buffer.concat([
  RP_ID_HASH,
  Uint8Array.of(0x45, 0, 0, 0, 1),
  Buffer.alloc(16),
  Uint8Array.of(0, 4),
  Uint8Array.of(1, 2, 3, 4),
  COSE_KEY,
]);
const CLIENT_DATA = { type: 'webauthn.create', challenge: base64url('c'), origin: 'http://localhost' };

function checkPasskey(input: Uint8Array): void {
  const clientData = base64url(JSON.stringify(CLIENT_DATA));
  readRegistration({ credentialId: base64url(Uint8Array.of(1, 2, 3, 4)), clientData, authenticatorData: base64url(input) }, 'c');
}

function checkAuthorization(query: string): void {
  const parsed = new AuthorizationQuery(query);
  parsed.required('client_id');
  const redirect = parsed.required('redirect_uri');
  requireRedirectUri(redirect);
  redirectHost(redirect);
  matchesRedirectUri(redirect, 'http://127.0.0.1/cb');
  parsed.requestTo(redirect, 'https://hub.local');
}

function checkRefreshToken(text: string): void {
  const token = parseRefreshToken(text);
  if (token) requireSame(refreshTokenText(token), text, 'a refresh token has one form');
}

const DOCUMENT = {
  client_id: 'https://app.example/c',
  client_name: 'App',
  redirect_uris: ['https://app.example/cb', 'http://127.0.0.1/cb'],
  grant_types: ['authorization_code'],
};
const SIGNAL = AbortSignal.timeout(2 ** 31 - 1);
const PAGE =
  '<!doctype html><title>T</title><ul><li class="a">x<p>y &amp; <b>z</b><a href="/q?a=1">l</a></ul><table><tr><td>1<script>alert(1)</script><pre> a\n b</pre>';

/** The first line is a selector, the others are the page. */
async function checkScraper(text: string): Promise<void> {
  const [selector = '', ...lines] = text.split('\n');
  await pageElements(lines.join('\n'), { selectors: [selector], maxItems: 5, signal: SIGNAL });
}

async function checkPage(html: string): Promise<void> {
  for (const form of ['markdown', 'text'] as const)
    await pageText({ html, url: 'https://example.org/a' }, form, { signal: SIGNAL, maxCharacters: 5_000 });
}

const DEFINITION = {
  namespace: 'core',
  name: 'lamp',
  version: '1.0.0',
  description: 'A lamp',
  parameters: { type: 'object', properties: { level: { type: 'integer', minimum: 0 }, name: { type: 'string', pattern: '^a+$' } } },
  returns: { type: 'object' },
  requires: { permissions: ['device:control:lamp'], capabilities: [] },
  execution: { hasSideEffects: true, timeoutMs: 1_000 },
  metadata: { tags: ['light'], isDangerous: false },
};
const validator = new SchemaValidator();
/** What is shown has nothing hidden, however often it was made safe; JSON for a terminal is the same JSON. */
function checkShown(text: string): void {
  for (const safe of [visibleText(text), visibleLine(text, 80), givenName(text), plain(text)])
    requireSame(isVisible(safe), true, 'a shown text has nothing hidden');
  requireSame(visibleText(visibleText(text)), visibleText(text), 'a text that is safe stays as it is');
  requireSame(givenName(givenName(text)), givenName(text), 'a name that was given stays as it is');
  requireSame(JSON.parse(terminalText(JSON.stringify(text))), text, 'JSON for a terminal is the same JSON');
}

const ITEMS = Array.from({ length: 300 }, (_, index) => `item-${index}`);

/** What clients, browsers, services and models send. */
export const SERVICE_TARGETS: readonly Target[] = [
  textTarget('sse', 'codec/sse-parser.ts', {
    run: checkSse,
    seeds: ['id: 1\nevent: a\ndata: x\ndata:y\n\n: c\r\ndata\r\r', '\ufeffdata: a\n\n'],
  }),
  textTarget('http-query', 'http/server/query.ts', {
    run: (text) => parseQuery(new URLSearchParams(text), QUERY, NOW_MS),
    seeds: ['from=2026-01-01T00:00:00Z&limit=5&every=5m&live=1&by=a&text=%C3%A9', 'from=24h', 'from=today'],
  }),
  textTarget('http-body', 'http/server/request-body.ts', {
    run: checkBody,
    seeds: ['json\n{"a":[1,"\\"]",{}]}', 'form\na=1&b=%20', 'json\n[{}]'],
    maxBytes: 65_536,
  }),
  textTarget('http-addressing', 'http/server/addresses.ts', {
    run: checkAddressing,
    seeds: [
      'hub.local:8443\nhttps://hub.local:8443\n/x\n192.0.2.1, 2001:db8::1',
      '[::1]:8443\nnull\nhttp://[::1]:8443/\n::ffff:192.0.2.1',
      '[fe80::1%eth0]\n\n*\nfe80::1%eth0',
    ],
    maxBytes: 2_000,
  }),
  bytesTarget('x509', 'http/tls/x509.ts', {
    run: checkCertificate,
    seeds: [Uint8Array.from(new X509Certificate(CERTIFICATE.certificate).raw)],
  }),
  bytesTarget('passkey', 'auth/approvals/passkey.ts', { run: checkPasskey, seeds: [Uint8Array.from(AUTHENTICATOR_DATA)], maxBytes: 2_000 }),
  textTarget('authorization', 'auth/oauth/authorization-request.ts', {
    run: checkAuthorization,
    seeds: [
      `client_id=c&redirect_uri=http%3A%2F%2F127.0.0.1%3A81%2Fcb&response_type=code&state=s&code_challenge_method=S256&code_challenge=${'A'.repeat(43)}&resource=https%3A%2F%2Fhub.local%2Fmcp&scope=read`,
    ],
    words: ['resource=', 'scope=', 'prompt=', 'response_mode=', 'com.example.app:/cb', 'http://localhost:1/', 'https://a@b/'],
  }),
  textTarget('refresh-token', 'auth/oauth/grant-store.ts', {
    run: checkRefreshToken,
    seeds: [
      refreshTokenText({ grantId: '00112233445566778899aabbccddeeff', family: new Uint8Array(16), own: new Uint8Array(16) } as never),
    ],
  }),
  jsonTarget('client-document', 'auth/oauth/oauth-client.ts', {
    run: (value) => isJsonObject(value) && clientOf('https://app.example/c', value),
    seeds: [DOCUMENT],
  }),
  jsonTarget('model-call', 'calls/formats/model-calls.ts', {
    run: parseToolCall,
    seeds: [
      { id: 'c', type: 'function', function: { name: 'lamp', arguments: '{"a":1}' } },
      { type: 'tool_use', id: 'c', name: 'lamp', input: { a: 1 } },
    ],
  }),
  bytesTarget('chat-stream', 'connectors/models/chat-completion.ts', {
    run: checkChat,
    seeds: [
      Buffer.from('data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}\n\ndata: [DONE]\n\n'),
    ],
    words: ['data: ', '[DONE]', '"error":{"message":1}', '\n\n'],
  }),
  textTarget('vision-answer', 'connectors/models/vision-tools.ts', {
    run: imageFinding,
    seeds: ['```json\n{"result":[{"label":"a"}],"confidence":0.5}\n```', '{"result":"x"}'],
  }),
  textTarget('shell', 'connectors/sandbox/shell-parser.ts', {
    run: (text) => parseShell(text, { place: 'command', isFed: false } as never),
    seeds: [
      'if a; then b <<E | c > d; fi\nE\n',
      'f() { $(x "${y:-`z`}"); }; case x in a|b) c;; esac',
      'for x in {a,b{1..3}}; do echo $((1+2)) <(y); done # c',
    ],
    maxBytes: 8_000,
  }),
  textTarget('command-line', 'connectors/sandbox/named-commands.ts', {
    run: parseCommandLine,
    seeds: ['/usr/bin/a "b c" \'d\' e\\ f {x}'],
  }),
  textTarget('web-address', 'connectors/web/address-policy.ts', {
    run: (text) => [isPublicAddress(text), URL.canParse(text) && hostEntry(text)],
    seeds: ['64:ff9b::192.0.2.1', '192.168.1.1', 'https://example.org:8/x'],
    maxBytes: 500,
  }),
  textTarget('web-page', 'connectors/web/page-text.ts', {
    run: checkPage,
    seeds: [PAGE],
    words: ['<ul>', '<li>', '</', '<table>', '<pre>', '<a href=', '&nbsp;', '<!--', ']]>'],
    maxBytes: 65_536,
  }),
  textTarget('web-selector', 'connectors/web/html-scraper.ts', {
    run: checkScraper,
    seeds: [`li.a > p:not(:has(b)), a[href^="/q" i]\n${PAGE}`, `*:nth-child(2n+1)\n${PAGE}`],
    words: [':has(', ':is(', ':not(', ':nth-child(', ':contains(', '>', '~', '+', '*'],
  }),
  bytesTarget('remote-definition', 'mesh/gossip/definition-store.ts', {
    run: (input) => readRemoteDefinition(input, validator),
    seeds: [Buffer.from(JSON.stringify(DEFINITION))],
    words: ['"$ref":"#"', '"patternProperties":{', '"anyOf":['],
  }),
  textTarget('shown-text', 'core/untrusted-text.ts', {
    run: checkShown,
    seeds: ['Küche 1\u200b \u202e', '👩🏽\u200d🚒\ufe0f', 'می\u200cخواهم', 'a\u2028b\u0007\u00ad\u3164'],
    words: ['\u200d', '\u200c', '\ufe0f', '\u{e0041}', '\u2800', '\u034f', '\u0301', '\u{1f3fd}'],
    maxBytes: 8_000,
  }),
  textTarget('permission', 'core/auth/permission.ts', {
    run: (text) => [parsePermission(text), parseGrant(text)],
    seeds: ['device:control:lamp-1', 'device:control:@area/hall+@type/light', '*', 'admin:*'],
    maxBytes: 600,
  }),
  textTarget('tool-name', 'tools/definition/tool-names.ts', { run: parseToolName, seeds: ['core:lamp@1.0.0', 'lamp'], maxBytes: 600 }),
  textTarget('search', 'tools/search/query.ts', {
    run: (text) => [parseSearch(text), parseValues(text)],
    seeds: ['turn on the lamp in the hall and set it to 21.5 °C, not the kitchen', 'Mach das Licht an', 'is any window open?'],
    maxBytes: 4_000,
  }),
  textTarget('home-uri', 'mcp/resources/resource-source.ts', {
    run: parseHomeUri,
    seeds: ['atmo://devices/lamp%201', 'atmo://sensors/a/b/history', 'atmo://areas/x'],
    maxBytes: 600,
  }),
  textTarget('cursor', 'mcp/pagination.ts', {
    run: (text) => listPage(ITEMS, (item) => item, text),
    seeds: [String(listPage(ITEMS, (item) => item, undefined).nextCursor)],
    maxBytes: 2_000,
  }),
  textTarget('push-message', 'web/worker/push-message.ts', {
    run: notificationOf,
    seeds: ['{"id":"n","kind":"approval","title":"T","text":"x","path":"/#/a","urgency":"high","count":2}'],
  }),
];
