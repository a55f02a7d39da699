import type { KeyObject } from 'node:crypto';
import { type Announcement, openAnnouncement } from '../../src/codec/messages/announcement.ts';
import { siteSummaryCodec } from '../../src/codec/messages/site.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { OpenEnvelope } from '../../src/mesh/gossip/announcement-validator.ts';
import type { Signed } from '../../src/mesh/gossip/hub-record.ts';
import type { OpenSummary } from '../../src/mesh/sites/summary-store.ts';

const SIGNATURE_PART_BYTES = 24;

interface Opened {
  readonly signed: Signed;
  readonly key: KeyObject;
}

/** Made once: an error with its stack for each copy of old news would take most of the time. */
const REFUSED = new AtmoError('VALIDATION_ERROR', 'No such key signed the announcement');

/**
 * Opens announcements for all hubs of one process: each is decoded, its signature verified and its bytes kept once, and not once
 * on every hub. The work counts for `opened` each time, so that what it would cost can be told.
 */
export class SharedVerification {
  readonly #opened = new Map<string, Opened>();
  readonly #summaries = new Map<string, { readonly opened: ReturnType<OpenSummary>; readonly key: KeyObject }>();
  opened = 0;

  readonly open: OpenEnvelope = (envelope, keyOf) => {
    this.opened += 1;
    const known = this.#opened.get(nameOf(envelope));
    if (!known || Buffer.compare(known.signed.envelope, envelope) !== 0) return this.#openFirst(envelope, keyOf);
    const key = keyOf(known.signed.announcement);
    if (key !== known.key && !key?.equals(known.key)) throw REFUSED;
    return known.signed;
  };

  readonly openSummary: OpenSummary = (envelope, keyOf) => {
    this.opened += 1;
    const name = nameOf(envelope);
    const known = this.#summaries.get(name);
    if (known && Buffer.compare(known.opened.envelope, envelope) === 0) {
      const key = keyOf(known.opened.summary);
      if (key !== known.key && !key?.equals(known.key)) throw REFUSED;
      return known.opened;
    }
    let key: KeyObject | undefined;
    const summary = siteSummaryCodec.open(envelope, (unverified) => {
      key = keyOf(unverified);
      return key;
    });
    const opened = { summary, envelope: Uint8Array.from(envelope) };
    if (key) this.#summaries.set(name, { opened, key });
    return opened;
  };

  #openFirst(envelope: Uint8Array, keyOf: (unverified: Announcement) => KeyObject | undefined): Signed {
    let key: KeyObject | undefined;
    const announcement = openAnnouncement(envelope, (unverified) => {
      key = keyOf(unverified);
      return key;
    });
    const signed = { announcement, envelope: Uint8Array.from(envelope) };
    if (key) this.#opened.set(nameOf(envelope), { signed, key });
    return signed;
  }
}

/** The end of the signature, which is at the end; hashing all the bytes took longer than all else that is done with a copy. */
function nameOf(envelope: Uint8Array): string {
  return Buffer.from(envelope.buffer, envelope.byteOffset, envelope.length).toString('latin1', envelope.length - SIGNATURE_PART_BYTES);
}
