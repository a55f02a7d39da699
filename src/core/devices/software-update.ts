import type { DeviceId } from '../ids.ts';

/** What runs on a device and in what form people know it. */
export interface SoftwareVersion {
  /** Greater is newer (Core §11.1.5.10). */
  readonly number: number;
  /** As the manufacturer writes it; empty when not told. */
  readonly text: string;
}

/** An image in the owner's folder that a device could install. */
export interface UpdateOffer {
  readonly device: DeviceId;
  readonly name: string;
  readonly from: SoftwareVersion;
  readonly to: SoftwareVersion;
  /** Name of the file in the folder. */
  readonly file: string;
  readonly sizeBytes: number;
  /** Web page of the manufacturer, as the image says; the hub does not open it. */
  readonly notesUrl?: string;
}

/** An image that no device can install now, and why. */
export interface UnfitImage {
  readonly file: string;
  readonly reason: string;
}

/** What the folder of images holds for the devices of this home. */
export interface UpdateList {
  readonly folder: string;
  readonly offers: readonly UpdateOffer[];
  readonly unfit: readonly UnfitImage[];
}

/** Steps in the order in which a device goes through them. */
export type UpdateStep = 'querying' | 'downloading' | 'applying' | 'done';

/** How far an update is. */
export interface UpdateProgress {
  readonly step: UpdateStep;
  /** 0 to 1 of the whole. */
  readonly fraction: number;
  readonly note: string;
}

/** An update as the device itself confirmed it. */
export interface UpdateResult {
  readonly device: DeviceId;
  readonly file: string;
  readonly from: SoftwareVersion;
  readonly to: SoftwareVersion;
}
