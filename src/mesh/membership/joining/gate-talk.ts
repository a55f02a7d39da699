import { AtmoError, toAtmoError } from '../../../core/errors.ts';
import { visibleLine } from '../../../core/foreign-text.ts';
import { decodeGateMessage, encodeGateMessage, type GateMessage } from '../../../wire/messages/gate.ts';
import type { GateChannel, GatePeer } from '../../engine/mesh-engine.ts';
import { refuseAtGate } from './gate-refusal.ts';

/** The version of the gate's messages that this hub speaks. */
export const GATE_VERSION = 1;

/** Reads one message. PERMISSION_DENIED for what is none, and for a version that is not spoken here. */
export async function hearAtGate(channel: GateChannel): Promise<GateMessage> {
  const message = parse(await channel.read());
  if ('version' in message && message.version !== GATE_VERSION) {
    refuseAtGate(
      'unknown_version',
      `Version ${message.version} of the gate is not spoken here, only version ${GATE_VERSION}. Update the older of the two hubs`,
    );
  }
  return message;
}

/** Reads the other side's answer; what it refuses is refused here too, with its words. `learn` takes the proof that may come with it. */
export async function hearAnswer(channel: GateChannel, peer: GatePeer, learn?: (revocation: Uint8Array) => void): Promise<GateMessage> {
  const answer = await hearAtGate(channel);
  if (answer.kind !== 'refusal') return answer;
  if (answer.revocation) learn?.(answer.revocation);
  throw new AtmoError('PERMISSION_DENIED', `${peer.id} refused: ${visibleLine(answer.message, MAX_MESSAGE)}`, {
    reason: 'refused_by_peer',
    code: answer.code,
  });
}

export async function sayAtGate(channel: GateChannel, message: GateMessage): Promise<void> {
  await channel.write(encodeGateMessage(message));
}

/** Tells the other side why, as far as it still listens, with the statement that proves it to a hub that was revoked. */
export async function sayRefusal(channel: GateChannel, thrown: unknown, revocation?: Uint8Array): Promise<void> {
  const { code, message } = toAtmoError(thrown);
  const refusal: GateMessage = { kind: 'refusal', code, message: message.slice(0, MAX_MESSAGE), ...(revocation && { revocation }) };
  await channel.write(encodeGateMessage(refusal)).catch(() => undefined);
}

/** UTF-16 units that fit into the 1,024 bytes of a refusal whatever they are. */
const MAX_MESSAGE = 340;

function parse(bytes: Uint8Array): GateMessage {
  try {
    return decodeGateMessage(bytes);
  } catch (thrown) {
    return refuseAtGate('malformed', `What came through the gate is no message of it. ${toAtmoError(thrown).message}`);
  }
}
