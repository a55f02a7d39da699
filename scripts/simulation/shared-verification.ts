import type { KeyObject } from 'node:crypto';
import { type Announcement, openAnnouncement } from '../../src/wire/messages/announcement.ts';

interface Opened {
  readonly announcement: Announcement;
  readonly key: KeyObject;
}

/**
 * Opens announcements for all hubs of one process: each is decoded and its signature verified once, and not once on every
 * hub. The work counts for `opened` each time, so that what it would cost can be told.
 */
export class SharedVerification {
  readonly #opened = new WeakMap<Uint8Array, Opened>();
  opened = 0;

  readonly open: typeof openAnnouncement = (envelope, keyOf) => {
    this.opened += 1;
    const known = this.#opened.get(envelope);
    if (known && keyOf(known.announcement)?.equals(known.key)) return known.announcement;
    return this.#openFirst(envelope, keyOf);
  };

  #openFirst(envelope: Uint8Array, keyOf: (unverified: Announcement) => KeyObject | undefined): Announcement {
    let key: KeyObject | undefined;
    const announcement = openAnnouncement(envelope, (unverified) => {
      key = keyOf(unverified);
      return key;
    });
    if (key) this.#opened.set(envelope, { announcement, key });
    return announcement;
  }
}
