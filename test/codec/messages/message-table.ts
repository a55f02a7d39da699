import { openAnnouncement, signAnnouncement } from '../../../src/codec/messages/announcement.ts';
import {
  type BlobRequest,
  decodeBlobAnswer,
  decodeBlobRequest,
  encodeBlobAnswer,
  encodeBlobRequest,
} from '../../../src/codec/messages/blobs.ts';
import {
  decodeForwardedRequest,
  encodeForwardedRequest,
  openToolInvoke,
  openToolResponse,
  signToolInvoke,
  signToolResponse,
} from '../../../src/codec/messages/call.ts';
import { decodeFrame, decodeHandshakeMessage, encodeFrame, encodeHandshakeMessage } from '../../../src/codec/messages/connection.ts';
import {
  decodeCertificateChain,
  decodeCertificateClaims,
  decodeRevocationStatement,
  encodeCertificateChain,
  encodeCertificateClaims,
  encodeRevocationStatement,
  inviteText,
  openMemberRevocation,
  parseInvite,
  type RevocationStatement,
  signMemberRevocation,
} from '../../../src/codec/messages/membership.ts';
import { decodeSubscribedEvent, encodeSubscribedEvent, openMeshQuery, signMeshQuery } from '../../../src/codec/messages/query.ts';
import {
  decodeStatementAnswer,
  decodeStatementRequest,
  decodeSyncAnswer,
  decodeSyncRequest,
  encodeStatementAnswer,
  encodeStatementRequest,
  encodeSyncAnswer,
  encodeSyncRequest,
  type StatementAnswer,
  type StatementRequest,
  type SyncAnswer,
  type SyncRequest,
} from '../../../src/codec/messages/sync.ts';
import {
  ANNOUNCEMENTS,
  CLAIMS,
  FRAMES,
  GATE_MESSAGES,
  HUB,
  INVITES,
  INVOKES,
  KEY,
  OTHER_HUB,
  PUBLIC_KEY,
  QUERIES,
  RESPONSES,
  REVOCATIONS,
  WITH_PICTURE,
} from './message-samples.ts';

/** One kind of message: how it gets to bytes and back, and some of it. */
export interface MessageKind {
  /** Name of its rule in docs/mesh.cddl. */
  readonly name: string;
  encode(value: unknown): Uint8Array;
  decode(bytes: Uint8Array): unknown;
  readonly samples: readonly unknown[];
}

const INVITE_PREFIX = 'atmo-join1.';
const keyOf = () => PUBLIC_KEY;

function kind<Value>(
  name: string,
  codec: readonly [(value: Value) => Uint8Array, (bytes: Uint8Array) => unknown],
  samples: readonly Value[],
): MessageKind {
  const [encode, decode] = codec;
  return { name, encode: (value) => encode(value as Value), decode, samples };
}

const SIGNED_REVOCATION = Uint8Array.from(
  signMemberRevocation({ meshId: 'mesh-fedcba9876543210', hubId: OTHER_HUB, atMs: 1_767_225_600_000 }, KEY),
);

/** Every kind of message that hubs send each other. */
export const MESSAGE_KINDS: readonly MessageKind[] = [
  kind('frame', [encodeFrame, decodeFrame], FRAMES),
  kind('gate-message', [encodeHandshakeMessage, decodeHandshakeMessage], GATE_MESSAGES),
  kind('certificate-claims', [encodeCertificateClaims, decodeCertificateClaims], CLAIMS),
  kind('certificate-chain', [encodeCertificateChain, decodeCertificateChain], [[Uint8Array.of(1, 2, 3), Uint8Array.of(4)]]),
  kind(
    'invite',
    [
      (invite) => Uint8Array.from(Buffer.from(inviteText(invite).slice(INVITE_PREFIX.length), 'base64url')),
      (bytes) => parseInvite(`${INVITE_PREFIX}${Buffer.from(bytes).toString('base64url')}`),
    ],
    INVITES,
  ),
  kind('member-revocation', [(value) => signMemberRevocation(value, KEY), (bytes) => openMemberRevocation(bytes, keyOf)], REVOCATIONS),
  kind<RevocationStatement>(
    'revocation-statement',
    [encodeRevocationStatement, decodeRevocationStatement],
    [{ signed: SIGNED_REVOCATION }, { signed: SIGNED_REVOCATION, signer: [Uint8Array.of(1, 2, 3)] }],
  ),
  kind('announcement', [(value) => signAnnouncement(value, KEY), (bytes) => openAnnouncement(bytes, keyOf)], ANNOUNCEMENTS),
  kind<SyncRequest>(
    'sync-request',
    [encodeSyncRequest, decodeSyncRequest],
    [{ vector: [] }, { vector: [{ hubId: HUB, epoch: 3, sequence: 17 }] }],
  ),
  kind<SyncAnswer>(
    'sync-answer',
    [encodeSyncAnswer, decodeSyncAnswer],
    [
      {
        vector: [{ hubId: HUB, epoch: 3, sequence: 17 }],
        envelopes: [Uint8Array.of(0x84), Uint8Array.of(0x84, 1)],
      },
    ],
  ),
  kind<BlobRequest>(
    'blob-request',
    [encodeBlobRequest, decodeBlobRequest],
    [{ hashes: ['0102030405060708', '00112233445566778899aabbccddeeff'] }],
  ),
  kind('blob-answer', [encodeBlobAnswer, decodeBlobAnswer], [{ blobs: [null, Uint8Array.of(1, 2, 3), new Uint8Array(100)] }]),
  kind<StatementRequest>(
    'statement-request',
    [encodeStatementRequest, decodeStatementRequest],
    [{ known: ['00112233445566778899aabbccddeeff'] }],
  ),
  kind<StatementAnswer>(
    'statement-answer',
    [encodeStatementAnswer, decodeStatementAnswer],
    [
      {
        statements: [
          { kind: 'member_revocation', bytes: Uint8Array.of(1) },
          { kind: 'token_revocation', bytes: Uint8Array.of(2) },
        ],
      },
    ],
  ),
  kind(
    'forwarded-request',
    [
      (invoke) =>
        encodeForwardedRequest({ ...signToolInvoke(invoke, KEY, WITH_PICTURE), remainingMs: 29_000, hopsLeft: 1, visited: [HUB] }),
      (bytes) => openToolInvoke(decodeForwardedRequest(bytes), keyOf),
    ],
    INVOKES,
  ),
  kind(
    'tool-response',
    [
      (response) => signToolResponse(response, KEY, WITH_PICTURE),
      (bytes) => {
        const { responseHash: _, ...response } = openToolResponse(bytes, keyOf);
        return response;
      },
    ],
    RESPONSES,
  ),
  kind('mesh-query', [(value) => signMeshQuery(value, KEY), (bytes) => openMeshQuery(bytes, keyOf)], QUERIES),
  kind(
    'subscribed-event',
    [encodeSubscribedEvent, decodeSubscribedEvent],
    [{ specversion: '1.0', id: '1', type: 'sensor.reading', data: { value: 21.5 } }],
  ),
];
