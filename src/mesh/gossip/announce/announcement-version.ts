/** Orders the announcements of one hub: a later start beats an earlier one, then the later announcement wins. */
export interface AnnouncementVersion {
  /** Counts the starts of the hub. */
  readonly epoch: number;
  /** Counts the announcements since. */
  readonly sequence: number;
}

/** True when `version` is later than `other`, or there is no other. */
export function isNewer(version: AnnouncementVersion, other: AnnouncementVersion | undefined): boolean {
  if (!other) return true;
  return version.epoch > other.epoch || (version.epoch === other.epoch && version.sequence > other.sequence);
}
