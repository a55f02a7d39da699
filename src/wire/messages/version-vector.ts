import type { HubId } from '../../core/ids.ts';
import type { CborValue } from '../cbor.ts';
import { list } from '../message-lists.ts';
import { requireBytes, uint } from '../message-scalars.ts';
import { type Place, refuse, type WireType } from '../message-type.ts';

/** Most hubs of a version vector, the one that it is from among them. */
export const MAX_VECTOR_HUBS = 1_024;
const ID_BYTES = 8;
const ID_DIGITS = 2 * ID_BYTES;
const HUB_ID = /^hub-[0-9a-f]{16}$/;
const COUNTS = list(uint(), { max: MAX_VECTOR_HUBS });

/** The newest announcement that is known of a hub. */
export interface HubVersion {
  readonly hubId: HubId;
  readonly epoch: number;
  readonly sequence: number;
}

/** What is known of each hub. */
export type VersionVector = readonly HubVersion[];

/** Column by column: an array for each hub took most of the time of a comparison. */
export const versionVector: WireType<VersionVector> = {
  toCbor: (versions, at) => {
    if (versions.length > MAX_VECTOR_HUBS) refuse(at, `has more than ${MAX_VECTOR_HUBS} hubs`);
    const ids = versions.map(({ hubId }, step) =>
      HUB_ID.test(hubId) ? hubId.slice(-ID_DIGITS) : refuse({ within: at, step }, 'is no id of a hub'),
    );
    return [
      Uint8Array.from(Buffer.from(ids.join(''), 'hex')),
      counts(
        versions.map(({ epoch }) => epoch),
        { within: at, step: 'epochs' },
      ),
      counts(
        versions.map(({ sequence }) => sequence),
        { within: at, step: 'sequences' },
      ),
    ];
  },
  fromCbor: (value, at) => {
    if (!Array.isArray(value) || value.length !== 3) return refuse(at, 'is not an array of 3');
    const [idsValue, epochsValue, sequencesValue]: readonly CborValue[] = value;
    const ids = requireBytes(idsValue, at, { max: MAX_VECTOR_HUBS * ID_BYTES });
    const epochs = COUNTS.fromCbor(epochsValue as CborValue, { within: at, step: 'epochs' });
    const sequences = COUNTS.fromCbor(sequencesValue as CborValue, { within: at, step: 'sequences' });
    if (ids.length !== epochs.length * ID_BYTES || epochs.length !== sequences.length)
      return refuse(at, 'does not have as many ids as epochs and sequences');
    const digits = Buffer.from(ids.buffer, ids.byteOffset, ids.length).toString('hex');
    return epochs.map((epoch, index) => ({
      hubId: `hub-${digits.slice(index * ID_DIGITS, (index + 1) * ID_DIGITS)}` as HubId,
      epoch,
      sequence: sequences[index] ?? 0,
    }));
  },
};

function counts(values: readonly number[], at: Place): CborValue {
  return COUNTS.toCbor(values, at);
}
