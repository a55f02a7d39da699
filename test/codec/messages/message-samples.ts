import { createPrivateKey, createPublicKey } from 'node:crypto';
import { type HubState, stateDigest } from '../../../src/codec/messages/announced-state.ts';
import { type Announcement, paginate } from '../../../src/codec/messages/announcement.ts';
import type { MeshQuery, ResponseContent, ToolInvoke, ToolResponse } from '../../../src/codec/messages/call.ts';
import type { Frame, HandshakeMessage } from '../../../src/codec/messages/connection.ts';
import type { CertificateClaims, Invite, memberRevocationCodec } from '../../../src/codec/messages/membership.ts';
import type { SessionCall } from '../../../src/codec/messages/session-call.ts';
import type { SiteSummary } from '../../../src/codec/messages/site.ts';
import type { HubId } from '../../../src/core/ids.ts';

/** The key of RFC 8032 §7.1, test 1: everybody can make the same signatures. */
export const KEY = createPrivateKey({
  key: {
    kty: 'OKP',
    crv: 'Ed25519',
    d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  },
  format: 'jwk',
});
export const PUBLIC_KEY = createPublicKey(KEY);
export const RAW_KEY = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';

export const HUB = 'hub-21fe31dfa154a261' as HubId;
export const OTHER_HUB = 'hub-0123456789abcdef' as HubId;
const MESH = 'mesh-fedcba9876543210';
const AT_MS = 1_767_225_600_000;
const CHAIN = [Uint8Array.of(1, 2, 3)];
const NOTHING = new Uint8Array();

export const FRAMES: readonly Frame[] = [
  { type: 'request', id: 1, kind: 1, body: Uint8Array.of(0xa0) },
  { type: 'accept', id: 1 },
  { type: 'result', id: 1, body: NOTHING },
  { type: 'error', id: 1, code: 'TOOL_NOT_FOUND', message: 'No tool of this name', details: '{}' },
  { type: 'part', id: 1, sequence: 0, bytes: Uint8Array.of(1, 2) },
  { type: 'credit', id: 1, bytes: 65_536 },
  { type: 'cancel', id: 300 },
  { type: 'ping', number: 7 },
  { type: 'pong', number: 7 },
  { type: 'goodbye', reason: 'stopping' },
  { type: 'chunk', id: 1, bytes: Uint8Array.of(9) },
];

export const GATE_MESSAGES: readonly HandshakeMessage[] = [
  { kind: 'hello', version: 1, meshId: MESH, certificate: CHAIN },
  { kind: 'join', version: 1, meshId: MESH, inviteId: '0011223344556677', proof: new Uint8Array(32).fill(5), name: 'Küche' },
  { kind: 'grant', responder: CHAIN, certificate: [...CHAIN, Uint8Array.of(4)] },
  { kind: 'refusal', code: 'PERMISSION_DENIED', message: 'The invite was used before' },
];

export const CLAIMS: readonly CertificateClaims[] = [
  {
    issuer: MESH,
    subject: HUB,
    expiresAt: 1_775_001_600,
    issuedAt: 1_767_225_600,
    id: '000102030405060708090a0b0c0d0e0f',
    key: RAW_KEY,
    permissions: ['*', 'admin:*'],
    meshId: MESH,
    roles: ['member', 'inviter'],
  },
];

export const INVITES: readonly Invite[] = [
  {
    rootKey: RAW_KEY,
    id: '0011223344556677',
    secret: new Uint8Array(16).fill(3),
    expiresAt: 1_767_226_500,
    addresses: ['192.168.1.20:8082'],
  },
];

export const REVOCATIONS: readonly Parameters<typeof memberRevocationCodec.sign>[0][] = [{ meshId: MESH, hubId: OTHER_HUB, atMs: AT_MS }];

/** A small house. */
export const STATE: HubState = {
  name: 'Living room hub',
  version: '0.1.0',
  addresses: ['192.168.1.20:8082', '[fe80::1]:8082'],
  links: [OTHER_HUB],
  capabilities: [
    { type: 'matter_bridge', description: 'Matter/Thread bridge with 1 devices' },
    { type: 'vision', description: 'Image analysis', constraints: { gpu: true, max_image_mb: 50, model: 'llava:7b' } },
  ],
  tools: [
    { id: 'core:notify@2.1.0', hash: '0102030405060708' },
    { id: 'matter:hall_lamp_turn_off@1.0.0', hash: '1112131415161718', capability: 0 },
    { id: 'matter:hall_lamp_turn_on@1.0.0', hash: '2122232425262728', capability: 0 },
  ],
  devices: [{ id: 'hall-lamp', name: 'Hall lamp', type: 'dimmable_light', isReachable: true }],
};

/** A house whose tools and devices do not fit. */
export const LARGE_STATE: HubState = {
  ...STATE,
  tools: Array.from({ length: 400 }, (_, index) => ({
    id: `matter:lamp_${String(index).padStart(3, '0')}_turn_on@1.0.0`,
    hash: (0x1000_0000_0000_0000n + BigInt(index)).toString(16),
    capability: 0,
  })),
  devices: Array.from({ length: 200 }, (_, index) => ({
    id: `lamp-${String(index).padStart(3, '0')}`,
    name: `Lamp ${index}`,
    type: 'on_off_light',
    isReachable: index % 2 === 0,
  })),
};

const HEADER = { hubId: HUB, epoch: 3, sequence: 17, timeMs: AT_MS, ttlSeconds: 300, digest: stateDigest(STATE) };

export const ANNOUNCEMENTS: readonly Announcement[] = [
  { kind: 'full', ...HEADER, certificate: CHAIN, state: paginate(STATE).announced },
  { kind: 'full', ...HEADER, certificate: CHAIN, state: paginate(LARGE_STATE).announced },
  { kind: 'full', ...HEADER, certificate: CHAIN, state: paginate({ ...STATE, devices: null }).announced },
  {
    kind: 'delta',
    ...HEADER,
    baseSequence: 16,
    changes: {
      toolsAdded: [{ id: 'matter:hall_lamp_turn_on@1.0.0', hash: '3132333435363738', capability: 0 }],
      toolsRemoved: ['core:notify@2.1.0'],
      devicesChanged: [{ id: 'hall-lamp', name: 'Hall lamp', type: 'dimmable_light', isReachable: false }],
      devicesRemoved: ['bath-fan'],
      links: [],
      name: 'Hall hub',
    },
  },
  {
    kind: 'delta',
    ...HEADER,
    baseSequence: 16,
    changes: { toolsAdded: [], toolsRemoved: [], devicesChanged: [], devicesRemoved: [], capabilities: [], addresses: [] },
  },
  { kind: 'heartbeat', ...HEADER },
  { kind: 'withdrawal', ...HEADER },
];

const HEAD = {
  id: 'req-uuid-123',
  entryHub: HUB,
  executingHub: OTHER_HUB,
  executorEpoch: 5,
  timeMs: AT_MS,
  token: 'at1.gEEB',
};

/** Of the samples, only the base64 fields of this schema travel as bytes. */
export const WITH_PICTURE = { properties: { image: { contentEncoding: 'base64' } } };

export const INVOKES: readonly ToolInvoke[] = [
  {
    ...HEAD,
    tool: 'matter:hall_lamp_set_brightness@1.0.0',
    version: '>=1.0.0',
    params: { brightness: 42.5, note: 'Grüße' },
    context: { agentId: 'light-agent/lamp', sessionId: 'sess-456', traceId: 'trace-789' },
    routing: { hopBudget: 3, preferNodes: ['kitchen'], excludeNodes: ['attic'] },
    timeoutMs: 30_000,
    idempotencyKey: 'key-1',
    mode: 'job',
  },
  {
    ...HEAD,
    tool: 'notify',
    params: {},
    context: { agentId: 'owner', traceId: 'trace-789' },
    routing: { hopBudget: 1 },
    timeoutMs: 5_000,
    mode: 'sync',
  },
  {
    ...HEAD,
    tool: 'matter:front_door_unlock@1.0.0',
    params: {},
    context: { agentId: 'kitchen', traceId: 'trace-789' },
    routing: { hopBudget: 1 },
    timeoutMs: 30_000,
    mode: 'waiting_job',
  },
  {
    ...HEAD,
    tool: 'analyze_image',
    params: { image: '/9j/4A==', note: '/9j/4A==', task: 'ocr' },
    context: { agentId: 'owner', traceId: 'trace-789' },
    routing: { hopBudget: 1 },
    timeoutMs: 5_000,
    mode: 'sync',
  },
];

const SESSION_CALL = {
  id: 'req-uuid-123',
  executorEpoch: HEAD.executorEpoch,
  token: HEAD.token,
  traceId: 'trace-789',
  remainingMs: 29_000,
};

export const SESSION_CALLS: readonly SessionCall[] = [
  {
    ...SESSION_CALL,
    tool: 'matter:hall_lamp_set_brightness@1.0.0',
    version: '>=1.0.0',
    params: { brightness: 42.5, note: 'Grüße' },
    agentId: 'light-agent/lamp',
    sessionId: 'sess-456',
    deadlineMs: 86_429_000,
    idempotencyKey: 'key-1',
    mode: 'job',
  },
  { ...SESSION_CALL, tool: 'analyze_image', params: { image: '/9j/4A==', task: 'ocr' }, agentId: 'owner', mode: 'sync' },
];

export const SESSION_ANSWERS: readonly ResponseContent[] = [
  { status: 'success', result: { delivered: true, celsius: 21.5 } },
  { status: 'success', result: { format: 'jpeg', image: '/9j/4A==' } },
  {
    status: 'error',
    error: { code: 'PERMISSION_DENIED', message: 'Not allowed', details: { signature: 'required' }, retryable: false },
  },
];

const ANSWER = {
  id: 'resp-uuid-789',
  requestId: 'req-uuid-123',
  execution: { nodeId: OTHER_HUB, durationUs: 234_567, hops: 1 },
  timeMs: AT_MS,
};

export const RESPONSES: readonly ToolResponse[] = [
  { ...ANSWER, status: 'success', result: { delivered: true, celsius: 21.5 } },
  { ...ANSWER, status: 'success', result: null },
  { ...ANSWER, status: 'success', result: { format: 'jpeg', image: '/9j/4A==' } },
  {
    ...ANSWER,
    status: 'error',
    error: { code: 'PERMISSION_DENIED', message: 'Not allowed', details: { required: ['notify:send'] }, retryable: false },
  },
];

export const QUERIES: readonly MeshQuery[] = [
  { kind: 'job_status', ...HEAD, jobId: 'job-1' },
  { kind: 'job_cancel', ...HEAD, jobId: 'job-1' },
  { kind: 'call_status', ...HEAD, requestId: 'req-uuid-122' },
  { kind: 'subscribe', ...HEAD, types: ['device.changed', 'sensor.reading'] },
  { kind: 'subscribe', ...HEAD, types: ['sensor.reading'], subjects: ['hall-sensor/temperature'] },
];

export const SUMMARIES: readonly SiteSummary[] = [
  {
    site: 'garage',
    hubId: HUB,
    epoch: 3,
    sequence: 2,
    timeMs: AT_MS,
    ttlSeconds: 7_200,
    certificate: CHAIN,
    borders: [
      { id: HUB, addresses: ['192.168.1.20:8082'] },
      { id: OTHER_HUB, addresses: [] },
    ],
    hubs: 20,
    filter: { hashes: 7, bits: Uint8Array.of(1, 2, 4, 8, 16, 32, 64, 128) },
  },
];
