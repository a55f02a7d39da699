import type { VersionVector } from '../../../wire/messages/version-vector.ts';
import type { HubRecord } from './hub-record.ts';

/** What is known of each hub. */
export function vectorOf(records: readonly HubRecord[]): VersionVector {
  return records.map(({ id, known }) => ({ hubId: id, epoch: known.epoch, sequence: known.sequence }));
}

/** What somebody lacks who knows as much as the vector says, up to about `maxBytes` and one hub at least. */
export function envelopesBeyond(vector: VersionVector, records: readonly HubRecord[], maxBytes: number): readonly Uint8Array[] {
  const theirs = new Map(vector.map((version) => [version.hubId, version]));
  const told: Uint8Array[] = [];
  let bytes = 0;
  for (const { id, chain } of records) {
    const version = theirs.get(id);
    if (!chain.isBeyond(version)) continue;
    const envelopes = chain.since(version);
    bytes += envelopes.reduce((sum, { length }) => sum + length, 0);
    if (bytes > maxBytes && told.length > 0) break;
    told.push(...envelopes);
  }
  return told;
}
