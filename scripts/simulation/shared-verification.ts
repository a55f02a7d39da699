import type { KeyObject } from 'node:crypto';
import { AtmoError } from '../../src/core/errors.ts';
import { type OpenEnvelope, openEnvelope } from '../../src/mesh/gossip/announcement-validator.ts';
import { type OpenSummary, openSummary } from '../../src/mesh/sites/summary-store.ts';

const SIGNATURE_PART_BYTES = 24;

/** Opens an envelope with the key that `keyOf` gives for its content. */
type Open<Content, Opened> = (envelope: Uint8Array, keyOf: (unverified: Content) => KeyObject | undefined) => Opened;

/** Made once: an error with its stack for each copy of old news would take most of the time. */
const REFUSED = new AtmoError('VALIDATION_ERROR', 'No such key signed the announcement');

/**
 * Opens announcements for all hubs of one process: each is decoded, its signature verified and its bytes kept once, and not once
 * on every hub. The work counts for `opened` each time, so that what it would cost can be told.
 */
export class SharedVerification {
  opened = 0;
  readonly open: OpenEnvelope = this.#once(openEnvelope, ({ announcement }) => announcement);
  readonly openSummary: OpenSummary = this.#once(openSummary, ({ summary }) => summary);

  #once<Content, Opened extends { readonly envelope: Uint8Array }>(
    openFirst: Open<Content, Opened>,
    contentOf: (opened: Opened) => Content,
  ): Open<Content, Opened> {
    const all = new Map<string, { readonly opened: Opened; readonly key: KeyObject }>();
    return (envelope, keyOf) => {
      this.opened += 1;
      const name = nameOf(envelope);
      const known = all.get(name);
      if (known && Buffer.compare(known.opened.envelope, envelope) === 0) {
        const key = keyOf(contentOf(known.opened));
        if (key !== known.key && !key?.equals(known.key)) throw REFUSED;
        return known.opened;
      }
      let key: KeyObject | undefined;
      const opened = openFirst(envelope, (unverified) => {
        key = keyOf(unverified);
        return key;
      });
      if (key) all.set(name, { opened, key });
      return opened;
    };
  }
}

/** The end of the signature, which is at the end; hashing all the bytes took longer than all else that is done with a copy. */
function nameOf(envelope: Uint8Array): string {
  return Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length).toString('latin1', envelope.length - SIGNATURE_PART_BYTES);
}
