import { DimmableLightDevice } from '@matter/main/devices/dimmable-light';
import type { DeviceType } from '../part.ts';
import { LEVEL } from './level.ts';

export const DIMMABLE_LIGHT: DeviceType = { parts: [{ id: 'light', type: DimmableLightDevice, state: { levelControl: LEVEL } }] };
